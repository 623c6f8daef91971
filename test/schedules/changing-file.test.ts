import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { startTemporal } from '../jobs/temporal.js';
import { ChangingFile } from './changing-file.js';
import { DayByDay } from './day-by-day.js';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => {
  temporal = await startTemporal();
});
afterAll(() => temporal?.teardown());

const DAYS = 30;
/** Runs in which the worker is killed while it buys, and runs before which it is. */
const KILLED = [13];
const KILLED_BEFORE = [7, 22];

it('fault 24: a file that changes on 30 scheduled runs is billed for its new and expired rows and no other, killed in some or not', async () => {
  const days = await DayByDay.open(temporal);
  onTestFinished(() => days.close());
  const file = new ChangingFile(40, 10);
  await days.schedule(file, '--into', days.folder.into, '--refresh-after', '10d');
  await days.work();
  let bought = 0;
  for (let run = 0; run < DAYS; run++) {
    const due = file.due();
    bought += due.length;
    if (KILLED_BEFORE.includes(run)) await days.workAnew();
    const before = days.sandbox.log().length;
    const summary = await days.run(file, async () => {
      if (!KILLED.includes(run)) return;
      await expect.poll(() => days.sandbox.log().length, { timeout: 20_000, interval: 1 }).toBeGreaterThan(before);
      await days.workAnew();
    });
    const { rows, success, missing, vanished } = summary.warehouse;
    expect({ run, rows, success, missing, vanished }).toEqual({
      ...{ run, rows: file.rows.length, success: file.rows.length, missing: 0 },
      vanished: file.vanished.length,
    });
    file.change();
  }
  await days.kill();

  // Beside the rows that were due only what was in flight when the worker died was sold again, and each time it is listed.
  const lost = await days.folder.query<{ url: string; times: number }>(
    `SELECT url, count(*)::INTEGER AS times FROM (SELECT DISTINCT id, unnest(unit_keys) AS unit_key FROM unknown_outcomes)
       JOIN (SELECT DISTINCT unit_key, url FROM enriched_rows) USING (unit_key) GROUP BY url`,
  );
  const allowed = new Map(lost.map(({ url, times }) => [url, times]));
  const sold = Object.entries(days.sold());
  expect(sold.map(([url]) => url).sort()).toEqual([...file.bill.keys()].sort());
  for (const [url, times] of sold) {
    const due = file.bill.get(url) as number;
    expect(times, url).toBeGreaterThanOrEqual(due);
    expect(times, url).toBeLessThanOrEqual(due + (allowed.get(url) ?? 0));
  }
  expect(bought).toBeGreaterThan(150);
}, 240_000);
