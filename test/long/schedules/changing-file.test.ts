import { expect, it, onTestFinished } from 'vitest';
import { ChangingFile } from '../../support/schedules/changing-file.js';
import { DayByDay, live } from '../../support/schedules/day-by-day.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();

it('fault 24: a file that changes on 15 scheduled runs is billed for its new and expired rows only, with and without kills', async () => {
  const days = await DayByDay.open(temporal);
  onTestFinished(() => days.close());
  const { folder } = days;
  const file = new ChangingFile(40, 5);
  const story = { days: 15, refreshAfterDays: 5, into: folder.into, killedIn: [8], killedBefore: [4, 12] };
  expect(await live(days, file, story)).toBeGreaterThan(75);

  // Only requests that were in flight at a kill were bought again, and each of them is listed.
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
  expect(runs).toEqual([{ runs: 15, vanished: file.vanished.length }]);
}, 240_000);
