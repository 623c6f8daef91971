import { expect, it } from 'vitest';
import { startSandbox } from '../../../src/sandbox/index.js';
import { freePort } from '../../../src/worker/temporal-server/server-files.js';
import { commandFolder } from '../../support/jobs/command-folder.js';
import { plainRows } from '../../support/jobs/folder.js';
import { Job } from '../../support/jobs/host.js';
import { temporalOfFile } from '../../support/temporal.js';

const key = 'canary-of-the-log';
const temporal = temporalOfFile();

it('a worker logs JSON lines with job, slice and request ids, is ready, and ends within its time at SIGTERM', async () => {
  const sandbox = await startSandbox({ failureRate: 0, textBytes: 100, keys: [key] });
  sandbox.setFaults([{ when: { nth: 2 }, do: { kind: 'status', status: 429, retryAfter: '1' } }]);
  const address = `127.0.0.1:${await freePort()}`;
  const env = { SEARCHFLOW_METRICS: address, SEARCHFLOW_LOG: 'json' };
  const { folder, start } = commandFolder(sandbox, { key, temporal, env });
  folder.write(plainRows(300));
  const worker = start(['worker', '--qps', '50']);
  const status = async (path: string) => (await fetch(`http://${address}${path}`)).status;
  const job = await Job.start(temporal, folder.dir, folder, { batch: 100 });
  await job.result();
  await worker.says(/: done/);
  expect([await status('/healthz'), await status('/readyz'), await status('/metrics')]).toEqual([200, 200, 200]);
  worker.child.kill('SIGTERM');
  expect(await worker.ended).toBe(143);

  expect(worker.err()).toBe('');
  expect(worker.out()).not.toMatch(/canary|site-1\.example/);
  const lines = worker
    .out()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  for (const { time, level, message } of lines)
    expect([new Date(String(time)).toISOString(), level, message]).toEqual([
      time,
      expect.any(String),
      expect.any(String),
    ]);
  const ids = { job: job.handle.workflowId, workflowId: job.handle.workflowId, slice: expect.any(Number), attempt: 1 };
  const requests = lines.filter(({ message }) => message === 'request');
  expect(requests.map(({ outcome }) => outcome).sort()).toEqual(['RateLimited', 'ok', 'ok', 'ok']);
  for (const request of requests) expect(request).toMatchObject({ ...ids, operation: 'contents' });
  // Each request has the id that the service gave it.
  const ok = requests.filter(({ outcome }) => outcome === 'ok').map(({ requestId }) => requestId);
  expect(new Set(ok).size).toBe(3);
  expect(ok).not.toContain(null);
  const slices = lines.filter(({ activity, message }) => activity === 'enrichSlice' && message !== 'request');
  expect(slices.reduce((sum, { rows }) => sum + Number(rows ?? 0), 0)).toBe(300);
  expect(slices[0]).toMatchObject({ ...ids, message: 'enrichSlice ended', level: 'INFO' });
  expect(lines.at(-1)).toMatchObject({ message: expect.stringContaining('Stopped.') });
}, 60_000);
