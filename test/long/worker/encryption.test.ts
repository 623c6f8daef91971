import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { expect, inject, it } from 'vitest';
import { SearchflowPlugin } from '../../../dist/worker/index.js';
import { type SandboxOptions, startSandbox } from '../../../src/sandbox/index.js';
import { startCommand } from '../../support/cli/command.js';
import { commandFolder } from '../../support/jobs/command-folder.js';
import { plainRows } from '../../support/jobs/folder.js';
import { codePath } from '../../support/jobs/host.js';
import { fileNamespace, silence } from '../../support/temporal.js';
import { keptTexts } from '../../support/worker/histories.js';

silence();
const KEY = 'canary-of-the-key';
const ROW = 'canary-of-a-row';
const PROMPT = 'canary-of-a-prompt';
const canaries = [KEY, ROW, PROMPT];
const month = { from: '2025-01-01T00:00:00.000Z', to: '2025-02-01T00:00:00.000Z' };

/** A service, and the command in a folder of its own with this environment. */
async function open(extra: Record<string, string>, options: Partial<SandboxOptions> = {}) {
  const sandbox = await startSandbox({ failureRate: 0, events: { count: 500, ...month }, ...options });
  const { folder, env, start, run } = commandFolder(sandbox, { key: KEY, env: extra });
  rmSync(folder.into);
  folder.write([...plainRows(20), ['20', ROW, `https://site.example/${ROW}`], ['21', 'bad', `not a URL: ${ROW}`]]);
  env.SEARCHFLOW_TASK_QUEUE = folder.dir;
  return {
    ...{ sandbox, folder, env },
    run: (...args: string[]) => run(args),
    start: (...args: string[]) => start(args),
    /** Runs a command that must succeed. */
    done: async (...args: string[]) => {
      const { code, out, err } = await run(args);
      expect([code, err], `${args.join(' ')}: ${err}`).toEqual([0, expect.anything()]);
      return out;
    },
  };
}

const search = (about = '') => ['--op', 'search', '--query', `{{name}} ${PROMPT}${about}`];

it('SEARCHFLOW_ENCRYPT encrypts all payloads on the embedded server, and its workflows stay encrypted without the variable', async () => {
  const { folder, run, start, done, env } = await open({ SEARCHFLOW_ENCRYPT: '1' });
  const worker = start('worker');
  await worker.says('Worker running');
  const { input } = folder;
  await done('enrich', input, '--into', 'a.duckdb', '--yes', '--max-cost', '1');
  await done('enrich', input, '--into', 'b.duckdb', '--job', 'found', '--yes', ...search());
  await done('agent', 'rows', input, '--into', 'c.duckdb', '--query', `{{name}} ${PROMPT}`, '--yes');
  await done('agent', 'run', PROMPT, '--effort', 'low', '--yes', '--max-cost', '1');
  await done('events', 'sync', '--into', 'd.duckdb');
  writeFileSync(
    join(folder.dir, 'monitor.json'),
    JSON.stringify({ name: ROW, search: { query: PROMPT }, webhook: { url: `https://hooks.example/${ROW}` } }),
  );
  await done('monitors', 'create', 'monitor.json', '--secret-file', 'secrets');
  await done('monitors', 'pause', '--name', ROW, '--yes');
  const daily = ['--every', '1d', '--schedule-name', 'daily', '--max-cost', '1', '--yes'];
  await done('enrich', input, '--into', 'e.duckdb', '--job', 'nightly', ...search(), ...daily);
  await done('schedule', 'trigger', 'daily');
  await expect.poll(() => run('schedule', 'show', 'daily').then(({ out }) => out), { timeout: 60_000 }).toMatch(/done/);
  // A job that stops: its failure has a message.
  const stopped = await run(
    'enrich',
    input,
    '--into',
    'f.duckdb',
    '--job',
    'small',
    ...search(' again'),
    '--yes',
    '--max-cost',
    '0.001',
  );
  expect(stopped.code).toBe(5);

  const { port } = JSON.parse(readFileSync(join(folder.stateDir, 'server.json'), 'utf8')) as {
    readonly port: number;
  };
  const connection = await Connection.connect({ address: `127.0.0.1:${port}` });
  const { texts, workflows } = await keptTexts(connection, 'default');
  expect(workflows).toBeGreaterThan(7);
  expect(texts).toContain('binary/encrypted');
  // Nothing but encrypted payloads.
  expect(texts).not.toMatch(/json\/plain/);
  for (const canary of canaries) expect(texts, canary).not.toContain(canary);
  await connection.close();

  const key = join(folder.stateDir, 'encryption-key');
  expect(statSync(key).mode & 0o777).toBe(0o600);
  Reflect.deleteProperty(env, 'SEARCHFLOW_ENCRYPT');
  expect(await done('status', 'small')).toMatch(/paused/);
  await done('cancel', 'small');
  // Another key: a sentence.
  writeFileSync(key, Buffer.alloc(32).toString('base64'), { mode: 0o600 });
  const other = await run('schedule', 'show', 'daily');
  expect([other.code, other.err]).toEqual([2, expect.stringMatching(/were encrypted with another key .* Restore/)]);
  worker.child.kill('SIGTERM');
  expect(await worker.ended).toBe(143);
});

/** A module with a data converter that encrypts. */
const converter = `
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
const key = Buffer.alloc(32, 7);
const encode = (payload) => {
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, iv);
  const whole = JSON.stringify({ metadata: Object.entries(payload.metadata).map(([name, value]) => [name, Buffer.from(value).toString('base64')]), data: Buffer.from(payload.data ?? []).toString('base64') });
  const data = Buffer.concat([iv, cipher.update(whole), cipher.final(), cipher.getAuthTag()]);
  return { metadata: { encoding: Buffer.from('binary/encrypted') }, data };
};
const decode = (payload) => {
  if (Buffer.from(payload.metadata.encoding).toString() !== 'binary/encrypted') return payload;
  const data = Buffer.from(payload.data);
  const decipher = createDecipheriv('aes-256-gcm', key, data.subarray(0, 12));
  decipher.setAuthTag(data.subarray(-16));
  const whole = JSON.parse(Buffer.concat([decipher.update(data.subarray(12, -16)), decipher.final()]).toString());
  return { metadata: Object.fromEntries(whole.metadata.map(([name, value]) => [name, Buffer.from(value, 'base64')])), data: Buffer.from(whole.data, 'base64') };
};
export const dataConverter = { payloadCodecs: [{ encode: async (all) => all.map(encode), decode: async (all) => all.map(decode) }] };
`;

it('SEARCHFLOW_DATA_CONVERTER is used by workers, commands and the plugin; without it commands name it', async () => {
  const address = inject('temporalAddress');
  const namespace = fileNamespace();
  const { folder, run, start, done, env, sandbox } = await open(
    {
      TEMPORAL_ADDRESS: address,
      TEMPORAL_NAMESPACE: namespace,
      SEARCHFLOW_DATA_CONVERTER: './converter.mjs',
    },
    { latencyMs: 300 },
  );
  writeFileSync(join(folder.dir, 'converter.mjs'), converter);
  const worker = start('worker');
  await worker.says('Worker running');
  const job = ['enrich', folder.input, '--into', 'a.duckdb', '--job', 'long', '--batch', '1', '--yes'];
  expect((await run(...job, '--max-cost', '0.003')).code).toBe(5);
  expect(await done('status', 'long')).toMatch(/paused/);

  const { SEARCHFLOW_DATA_CONVERTER: module } = env;
  Reflect.deleteProperty(env, 'SEARCHFLOW_DATA_CONVERTER');
  for (const args of [
    ['status', 'long'],
    ['cancel', 'long'],
    ['enrich', folder.input, '--into', 'b.duckdb', '--yes'],
  ]) {
    const { code, err } = await run(...args);
    expect([args[0], code, err]).toEqual([
      args[0],
      2,
      expect.stringMatching(/encoded as "binary\/encrypted"\. Set SEARCHFLOW_DATA_CONVERTER/),
    ]);
  }
  const elsewhere = { cwd: folder.dir, env: { ...env, SEARCHFLOW_STATE_DIR: join(folder.dir, 'second') } };
  const second = startCommand(['worker'], elsewhere);
  expect(await second.ended).toBe(2);
  expect(second.err()).toContain('Set SEARCHFLOW_DATA_CONVERTER');
  env.SEARCHFLOW_DATA_CONVERTER = module as string;
  // With the converter, the second worker reads whose queue it is.
  const other = startCommand(['worker'], {
    ...elsewhere,
    env: { ...elsewhere.env, SEARCHFLOW_DATA_CONVERTER: module as string },
  });
  expect(await other.ended).toBe(2);
  expect(other.err()).toContain(`Another worker (${worker.child.pid}@`);

  expect((await run('resume', 'long', '--max-cost', '1')).code).toBe(0);
  expect(Object.values(sandbox.bill().keys)).toEqual(Array.from({ length: 21 }, () => 1));
  worker.child.kill('SIGTERM');
  await worker.ended;

  // A team's own worker with the same converter.
  const { dataConverter } = await import(join(folder.dir, 'converter.mjs'));
  const connection = await NativeConnection.connect({ address });
  const options = {
    apiKey: KEY,
    baseUrl: sandbox.url,
    stateDir: join(folder.dir, 'plugin'),
    paths: [folder.dir],
    qps: 100,
  };
  const own = await Worker.create({
    ...{ connection, namespace, taskQueue: 'own', dataConverter, workflowBundle: { codePath } },
    plugins: [new SearchflowPlugin({ ...options, say: () => undefined })],
  });
  const client = new Client({ connection: await Connection.connect({ address }), namespace, dataConverter });
  const input = { input: folder.input, into: join(folder.dir, 'own.duckdb') };
  const summary = await own.runUntil(async () => {
    // The SDK never ends a worker whose `runUntil` callback returns before the worker runs.
    await expect.poll(() => own.getState(), { timeout: 30_000 }).toBe('RUNNING');
    return client.workflow.execute('enrichCsv', { args: [input], taskQueue: 'own', workflowId: 'own-job' });
  });
  expect(summary).toMatchObject({ phase: 'done', warehouse: { success: 21, invalid: 1 } });
  const { texts, workflows } = await keptTexts(client.connection, namespace);
  expect(workflows).toBeGreaterThan(1);
  expect(texts).not.toMatch(/json\/plain/);
  // Failures are plain without a failure converter that encodes them, but none has the contents of a row.
  for (const canary of canaries) expect(texts, canary).not.toContain(canary);
  await client.connection.close();
  await connection.close();
});
