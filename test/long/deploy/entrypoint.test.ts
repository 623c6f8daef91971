import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { startSandbox } from '../../../src/sandbox/index.js';
import { freePort } from '../../../src/worker/temporal-server/server-files.js';
import { Folder, plainRows } from '../../support/jobs/folder.js';
import { Job } from '../../support/jobs/host.js';
import { temporalOfFile } from '../../support/temporal.js';

const inDocker = (file: string) => fileURLToPath(new URL(`../../../deploy/docker/${file}`, import.meta.url));
const { PATH = '' } = process.env;

const temporal = temporalOfFile();

it('the entry point of the image reads secrets from files, runs a worker that is healthy, and drains at SIGTERM', async () => {
  const folder = Folder.ofTest();
  folder.write(plainRows(100));
  const sandbox = await startSandbox({ failureRate: 0, textBytes: 100, keys: ['key-in-a-file'] });
  const keyFile = join(folder.dir, 'key');
  writeFileSync(keyFile, 'key-in-a-file\n');
  const env = {
    ...{ PATH, HOME: folder.dir, SEARCHFLOW_API_KEY_FILE: keyFile, SEARCHFLOW_BASE_URL: sandbox.url },
    SEARCHFLOW_LOG: 'json',
    SEARCHFLOW_METRICS: `127.0.0.1:${await freePort()}`,
    SEARCHFLOW_STATE_DIR: join(folder.dir, 'state'),
    SEARCHFLOW_TASK_QUEUE: folder.dir,
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: temporal.namespace as string,
  };
  const worker = spawn(inDocker('entrypoint.sh'), ['worker'], { cwd: folder.dir, env });
  const [out, err] = [text(worker.stdout), text(worker.stderr)];
  onTestFinished(async () => {
    worker.kill('SIGKILL');
    await sandbox.close();
  });
  const health = () => spawnSync(process.execPath, [inDocker('health.mjs')], { env }).status;
  await (await Job.start(temporal, folder.dir, folder)).result();
  expect(health()).toBe(0);
  const ended = once(worker, 'close');
  // The script has become node, so the signal reaches the worker.
  worker.kill('SIGTERM');
  expect(await ended).toEqual([143, null]);
  expect(health()).toBe(1);
  expect(await err).toBe('');
  expect(await out).toMatch(/"message":"Stopped\./);
  expect(await out).not.toContain('key-in-a-file');
});

it.each([
  [
    'cannot be read',
    { SEARCHFLOW_STORE_FILE: '/missing/store' },
    /^SEARCHFLOW_STORE_FILE: \/missing\/store cannot be read by user \d+\.\n$/,
  ],
  // Without this refusal, the worker would use the sandbox.
  ['is empty', { SEARCHFLOW_API_KEY_FILE: '/dev/null' }, /^SEARCHFLOW_API_KEY_FILE: \/dev\/null is empty\.\n$/],
  [
    'is set beside its setting',
    { SEARCHFLOW_SOURCE_URL: 'postgres://a:canary@b/c', SEARCHFLOW_SOURCE_URL_FILE: '/etc/hostname' },
    /^SEARCHFLOW_SOURCE_URL and SEARCHFLOW_SOURCE_URL_FILE are both set\. Set one of them\.\n$/,
  ],
])('the entry point refuses a secret file that %s', (_, secrets, message) => {
  const env = { PATH, ...secrets };
  const { status, stderr } = spawnSync(inDocker('entrypoint.sh'), ['worker'], { env, encoding: 'utf8' });
  expect(stderr).toMatch(message);
  expect(status).toBe(2);
});
