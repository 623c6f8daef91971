import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { startSandbox } from '../../../src/sandbox/index.js';
import { closeAfterTest } from '../../support/after-test.js';
import { commandFolder } from '../../support/jobs/command-folder.js';
import { plainRows } from '../../support/jobs/folder.js';
import { fileNamespace, silence } from '../../support/temporal.js';
import { certificates } from '../../support/worker/certificates.js';
import { type ProxyAsks, startTemporalProxy } from '../../support/worker/temporal-proxy.js';

silence();
const API_KEY = 'canary-of-temporal';

/** A command in a folder with rows, whose Temporal endpoint has TLS and asks for this. */
async function open(asks: ProxyAsks) {
  const proxy = await startTemporalProxy(inject('temporalAddress'), asks);
  closeAfterTest(proxy);
  const sandbox = await startSandbox({ failureRate: 0, textBytes: 100 });
  const temporal = { address: proxy.address, namespace: fileNamespace() };
  const { folder, run: runs } = commandFolder(sandbox, { key: 'canary-of-the-service', temporal });
  rmSync(folder.into);
  folder.write(plainRows(20));
  for (const [name, one] of Object.entries(certificates)) {
    writeFileSync(join(folder.dir, `${name}.crt`), one.certificate);
    if ('privateKey' in one) writeFileSync(join(folder.dir, `${name}.key`), one.privateKey);
  }
  const at = (name: string) => join(folder.dir, name);
  const certificateOf = (name: string) => ({
    TEMPORAL_TLS_CLIENT_CERT_PATH: at(`${name}.crt`),
    TEMPORAL_TLS_CLIENT_KEY_PATH: at(`${name}.key`),
  });
  const run = (env: Record<string, string>, ...args: string[]) =>
    runs(args, {
      TEMPORAL_TLS: 'true',
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: at('authority.crt'),
      TEMPORAL_TLS_SERVER_NAME: 'temporal.example',
      ...env,
    });
  const enrich = (env: Record<string, string>) => run(env, 'enrich', folder.input, '--into', folder.into, '--yes');
  return { proxy, sandbox, certificateOf, run, enrich };
}

it('a job runs over mTLS, and commands without a certificate of the authority are refused', async () => {
  const { proxy, sandbox, certificateOf, run, enrich } = await open({ certificate: true });
  for (const env of [{}, { TEMPORAL_TLS_SERVER_NAME: 'other.example', ...certificateOf('client') }]) {
    const { code, err } = await enrich(env);
    // The client cannot tell a failed handshake from a server that does not answer.
    expect([code, err]).toEqual([1, expect.stringContaining(proxy.address)]);
    expect(err).not.toMatch(/canary|PRIVATE|\n +at /);
  }
  expect([proxy.passed(), sandbox.log()]).toEqual([0, []]);
  const { code, err } = await enrich(certificateOf('client'));
  expect([code, err]).toEqual([0, expect.anything()]);
  expect(Object.values(sandbox.bill().keys)).toEqual(Array.from({ length: 20 }, () => 1));
  expect(proxy.passed()).toBeGreaterThan(0);
  expect((await run(certificateOf('client'), 'jobs')).out).toContain('done');
});

it('a job runs with an API key, which no message shows', async () => {
  const { proxy, sandbox, enrich } = await open({ apiKey: API_KEY });
  for (const env of [{}, { TEMPORAL_API_KEY: `${API_KEY}-of-another` }]) {
    const { code, err } = await enrich(env as Record<string, string>);
    expect([code, err]).toEqual([
      2,
      expect.stringMatching(/refuses the login: Request unauthorized\. Check TEMPORAL_API_KEY/),
    ]);
    expect(err).not.toMatch(/canary|\n +at /);
  }
  expect([proxy.passed(), sandbox.log()]).toEqual([0, []]);
  const { code, err } = await enrich({ TEMPORAL_API_KEY: API_KEY });
  expect([code, err]).toEqual([0, expect.anything()]);
  expect(err).not.toContain('canary');
  expect(Object.values(sandbox.bill().keys)).toEqual(Array.from({ length: 20 }, () => 1));
});
