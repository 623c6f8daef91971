import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { sent, startCluster } from '../../support/jobs/cluster.js';
import { plainRows } from '../../support/jobs/folder.js';
import { Job } from '../../support/jobs/host.js';
import { boughtAgain } from '../../support/jobs/setting.js';
import { startOwnTemporal } from '../../support/temporal.js';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => {
  // The server hands tasks to a stopped worker as long as that worker's last poll is open; this setting makes that time short.
  temporal = await startOwnTemporal(['matching.longPollExpirationInterval="2s"']);
});
afterAll(() => temporal?.teardown());

it('fault 26: a worker that wakes after its slices were retried doubles no row, and its late purchases count', async () => {
  const rows = plainRows(80);
  const cluster = await startCluster(temporal, {
    rows,
    sandbox: { latencyMs: 1000 },
    env: { SEARCHFLOW_DEAD_AFTER_SECONDS: '2', SEARCHFLOW_CONCURRENCY: '4' },
  });
  onTestFinished(() => cluster.close());
  const { folder, sandbox, warehouse } = cluster;
  const stopped = cluster.start('a', ['worker']);
  const address = new URL(warehouse);
  const into = `postgres://${address.host}${address.pathname}`;
  const job = await Job.start(temporal, folder.dir, folder, { into, csv: folder.csv });

  // The worker is stopped when it has sent three requests. The answers arrive while it is stopped.
  await sent(cluster, 3, stopped);
  stopped.child.kill('SIGSTOP');
  const other = cluster.start('b', ['worker']);
  expect(await job.result()).toMatchObject({ phase: 'done', warehouse: { rows: 80, success: 80 } });

  // The woken worker reads these answers and continues; on SIGINT it ends with exit code 0.
  stopped.child.kill('SIGCONT');
  const usage = async () => {
    const asked = cluster.start('c', ['usage', '--json']);
    expect(await asked.ended, asked.err()).toBe(0);
    return JSON.parse(asked.out()).total as { requests: number; landedDollars: number; unknownOutcomes: number };
  };
  const counted = async () => {
    const { requests, landedDollars } = await usage();
    // A worker that ended, or what it printed, explains a request that is missing.
    return { requests, micros: Math.round(landedDollars * 1e6), ended: stopped.child.exitCode, printed: stopped.err() };
  };
  const { requests, micros } = sandbox.bill({ keys: false });
  await expect.poll(counted, { timeout: 30_000 }).toMatchObject({ requests, micros, ended: null });
  // Its intents without a request are void by now, so it sends nothing.
  expect(sandbox.bill({ keys: false })).toMatchObject({ requests, micros });
  const again = boughtAgain(sandbox);
  expect(Object.keys(again).length).toBeGreaterThan(0);
  stopped.child.kill('SIGINT');
  expect(await stopped.ended, stopped.err()).toBe(130);

  const loaded = await cluster.query<{ row_number: number; input: string[]; status: string }>(
    'SELECT row_number::int, input, status FROM enriched_rows ORDER BY row_number',
  );
  expect(loaded.map((row) => [row.row_number, row.input, row.status])).toEqual(
    rows.map((row, index) => [index + 1, row, 'success']),
  );
  const [listed] = await cluster.query<{ units: string[] }>(
    `SELECT array_agg(DISTINCT url) AS units FROM (SELECT unnest(unit_keys) AS unit_key FROM unknown_outcomes) AS lost
       JOIN enriched_rows USING (unit_key)`,
  );
  expect(listed?.units).toEqual(expect.arrayContaining(Object.keys(again)));
  other.child.kill('SIGINT');
  expect(await other.ended).toBe(130);
});
