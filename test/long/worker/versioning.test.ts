import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startSandbox } from '../../../src/sandbox/index.js';
import { startCommand } from '../../support/cli/command.js';
import { Folder, plainRows } from '../../support/jobs/folder.js';
import { ofFile } from '../../support/of-file.js';
import { startPostgres } from '../../support/postgres-server.mjs';
import { temporalOfFile } from '../../support/temporal.js';

const DEPLOYMENT = 'searchflow-tests';
const rows = 40;

const temporal = temporalOfFile();
const sandbox = ofFile(() => startSandbox({ failureRate: 0, latencyMs: 200 }));
const postgres = ofFile(startPostgres);
const folder = Folder.ofFile();
folder.write(plainRows(rows));

/** Starts a command with a state folder of its own. */
function start(name: string, env: Record<string, string | undefined>, ...args: readonly string[]) {
  const all = {
    SEARCHFLOW_API_KEY: 'key-of-the-versions',
    SEARCHFLOW_BASE_URL: sandbox.url,
    SEARCHFLOW_STATE_DIR: join(folder.dir, name),
    SEARCHFLOW_TASK_QUEUE: folder.dir,
    SEARCHFLOW_QPS: '4',
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: temporal.namespace as string,
    XDG_STATE_HOME: folder.dir,
    ...env,
  };
  const set = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const running = startCommand(args, { cwd: folder.dir, env: Object.fromEntries(set) });
  onTestFinished(() => void running.child.kill('SIGKILL'));
  return running;
}

const worker = (build: string, env: Record<string, string>) =>
  start(`worker-${build}`, { ...env, TEMPORAL_DEPLOYMENT_NAME: DEPLOYMENT, TEMPORAL_WORKER_BUILD_ID: build }, 'worker');

/** Makes a build the current version, once its worker polls. */
async function deploy(build: string): Promise<void> {
  const { workflowService } = temporal.connection;
  const request = { namespace: temporal.namespace as string, deploymentName: DEPLOYMENT, buildId: build };
  const set = () =>
    workflowService.setWorkerDeploymentCurrentVersion({ ...request, ignoreMissingTaskQueues: true }).then(
      () => 'set',
      (error: Error) => error.message,
    );
  await expect.poll(set, { timeout: 60_000, interval: 500 }).toBe('set');
}

it('a job continues on the next version while the former one drains, and commands of versioned queues are clients', async () => {
  const [SEARCHFLOW_STORE, SEARCHFLOW_WAREHOUSE_URL] = [
    await postgres.database('versions'),
    await postgres.database('warehouse'),
  ];
  const env = { SEARCHFLOW_STORE, SEARCHFLOW_WAREHOUSE_URL };
  const first = worker('1', env);
  await first.says('Worker running');
  await deploy('1');

  // A command with a folder of its own could not share its rows with the workers.
  const lone = start('lone', {}, 'enrich', folder.input, '--into', 'lone.duckdb', '--yes');
  expect(await lone.ended).toBe(2);
  expect(lone.err()).toMatch(
    /have versions \(current: build 1 of searchflow-tests\)\. Let both share a PostgreSQL store/,
  );

  const job = start('command', env, 'enrich', folder.input, '--job', 'long', '--batch', '1', '--yes');
  await job.says(/This command watches: the workers of task queue .* have versions \(current: build 1 of /);
  await job.says(/[1-9]\d*\/40 rows/);

  const second = worker('2', env);
  await second.says('Worker running');
  await deploy('2');
  first.child.kill('SIGTERM');
  expect(await first.ended).toBe(143);
  const other = worker('3', {});
  expect(await other.ended).toBe(2);
  expect(other.err()).toContain('polls the task queue');

  expect([await job.ended, job.err()]).toEqual([0, expect.stringContaining('Done: 40 rows of long')]);
  expect(Object.values(sandbox.bill().keys)).toEqual(Array.from({ length: rows }, () => 1));
});
