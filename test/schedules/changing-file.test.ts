import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { startTemporal } from '../jobs/temporal.js';
import { startPostgres } from '../support/postgres-server.mjs';
import { ChangingFile } from './changing-file.js';
import { DayByDay } from './day-by-day.js';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => {
  temporal = await startTemporal();
});
afterAll(() => temporal?.teardown());

interface Story {
  readonly days: number;
  readonly refreshAfterDays: number;
  readonly into: string;
  /** Runs in which the worker is killed while it buys, and runs before which it is. */
  readonly killedIn?: readonly number[];
  readonly killedBefore?: readonly number[];
}

/** Runs a schedule day by day; answers with how many URLs were due in all. */
async function live(days: DayByDay, file: ChangingFile, story: Story): Promise<number> {
  const { killedIn = [], killedBefore = [] } = story;
  await days.schedule(file, '--into', story.into, '--refresh-after', `${story.refreshAfterDays}d`);
  await days.work();
  let due = 0;
  for (let run = 0; run < story.days; run++) {
    if (run > 0) file.change();
    due += file.due().length;
    if (killedBefore.includes(run)) await days.workAnew();
    const before = days.sandbox.log().length;
    const summary = await days.run(file, async () => {
      if (!killedIn.includes(run)) return;
      await expect.poll(() => days.sandbox.log().length, { timeout: 20_000, interval: 1 }).toBeGreaterThan(before);
      await days.workAnew();
    });
    const { rows, success, missing, vanished } = summary.warehouse;
    expect({ run, rows, success, missing, vanished }).toEqual({
      ...{ run, rows: file.rows.length, success: file.rows.length, missing: 0 },
      vanished: file.vanished.length,
    });
  }
  await days.kill();
  return due;
}

it('fault 24: a file that changes on 30 scheduled runs is billed for its new and expired rows and no other, killed in some or not', async () => {
  const days = await DayByDay.open(temporal);
  onTestFinished(() => days.close());
  const { folder } = days;
  const file = new ChangingFile(40, 10);
  const story = { days: 30, refreshAfterDays: 10, into: folder.into, killedIn: [13], killedBefore: [7, 22] };
  expect(await live(days, file, story)).toBeGreaterThan(150);

  // Beside what was due only what was in flight when the worker died was sold again, and each time it is listed.
  const lost = await folder.query<{ url: string; times: number }>(
    `SELECT url, count(*)::INTEGER AS times FROM (SELECT DISTINCT id, unnest(unit_keys) AS unit_key FROM unknown_outcomes)
     JOIN (SELECT DISTINCT unit_key, url FROM enriched_rows) USING (unit_key) GROUP BY url`,
  );
  const listed = new Map(lost.map(({ url, times }) => [url, times]));
  const sold = Object.entries(days.sold());
  expect(sold.map(([url]) => url).sort()).toEqual([...file.bill.keys()].sort());
  for (const [url, times] of sold) {
    const due = file.bill.get(url) as number;
    expect(times, url).toBeGreaterThanOrEqual(due);
    expect(times, url).toBeLessThanOrEqual(due + (listed.get(url) ?? 0));
  }

  const rows = await folder.warehouseRows();
  const cells = (vanished: boolean) => rows.filter((row) => row.vanished === vanished).map(({ input }) => input);
  expect(cells(false)).toEqual(file.rows);
  expect(cells(true).sort()).toEqual([...file.vanished].map((row) => [...row]).sort());
  const runs = await folder.query<{ runs: number; vanished: number }>(
    `SELECT count(*)::INTEGER AS runs, last(vanished ORDER BY ended_at)::INTEGER AS vanished FROM searchflow_runs
     WHERE scheduled AND phase = 'done'`,
  );
  expect(runs).toEqual([{ runs: 30, vanished: file.vanished.length }]);
}, 240_000);

it('it is the same in PostgreSQL', async () => {
  const server = await startPostgres();
  onTestFinished(() => server.stop());
  const warehouse = await server.database();
  const days = await DayByDay.open(temporal, { SEARCHFLOW_WAREHOUSE_URL: warehouse });
  onTestFinished(() => days.close());
  const file = new ChangingFile(40, 3, 2);
  await live(days, file, { days: 8, refreshAfterDays: 3, into: warehouse, killedBefore: [5] });
  expect(days.sold()).toEqual(Object.fromEntries(file.bill));
}, 120_000);
