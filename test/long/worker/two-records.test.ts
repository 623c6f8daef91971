import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startSandbox } from '../../../src/sandbox/index.js';
import { startCommand } from '../../support/cli/command.js';
import { folderOfFile } from '../../support/files/folders.js';
import { ofFile } from '../../support/of-file.js';
import { temporalOfFile } from '../../support/temporal.js';

const folder = folderOfFile();
const temporal = temporalOfFile();
const sandbox = ofFile(startSandbox);

/** Starts `searchflow worker` with a key and a folder of its own; it is ended with the test. */
function startWorker(name: string, env: Record<string, string>) {
  const running = startCommand(['worker'], {
    cwd: folder,
    env: {
      SEARCHFLOW_API_KEY: `key-of-${name}`,
      SEARCHFLOW_BASE_URL: sandbox.url,
      SEARCHFLOW_STATE_DIR: join(folder, name),
      XDG_STATE_HOME: join(folder, name),
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: temporal.namespace as string,
      ...env,
    },
  });
  onTestFinished(() => void running.child.kill('SIGKILL'));
  return running;
}

it('without a store a second worker on the same queue refuses to start until the first has ended', async () => {
  const first = startWorker('a', { SEARCHFLOW_TASK_QUEUE: 'first' });
  await first.says(/Press Ctrl-C to stop/);

  const sameQueue = startWorker('b', { SEARCHFLOW_TASK_QUEUE: 'first' });
  expect(await sameQueue.ended).toBe(2);
  expect(sameQueue.err()).toMatch(
    /Another worker \((PID )?\d+.* the task queue first.* would buy the same rows.*SEARCHFLOW_STORE/s,
  );

  first.child.kill('SIGKILL');
  await first.ended;
  const next = startWorker('d', { SEARCHFLOW_TASK_QUEUE: 'first' });
  await next.says(/Press Ctrl-C to stop/);
  next.child.kill('SIGINT');
  expect(await next.ended).toBe(130);
});

it('jobs in two folders share the rate limit of a key', async () => {
  const rows = Array.from({ length: 40 }, (_, index) => `https://a.example/${index}`);
  writeFileSync(join(folder, 'rows.csv'), `url\n${rows.join('\n')}\n`);
  sandbox.reset();
  const jobs = ['one', 'two'].map((name) => {
    const job = startCommand(['enrich', 'rows.csv', '--into', `${name}.duckdb`, '--batch', '1', '--yes'], {
      cwd: folder,
      env: {
        SEARCHFLOW_API_KEY: 'key',
        SEARCHFLOW_BASE_URL: sandbox.url,
        SEARCHFLOW_STATE_DIR: join(folder, `job-${name}`),
        SEARCHFLOW_TASK_QUEUE: `job-${name}`,
        XDG_STATE_HOME: join(folder, 'state'),
        TEMPORAL_ADDRESS: temporal.address,
        TEMPORAL_NAMESPACE: temporal.namespace as string,
      },
    });
    onTestFinished(() => void job.child.kill('SIGKILL'));
    return job;
  });
  for (const job of jobs) expect([await job.ended, job.err()]).toEqual([0, expect.stringContaining('Done: 40 rows')]);
  // A busy machine may send a request some milliseconds late.
  expect(sandbox.stats().limited).toBeLessThanOrEqual(1);
});
