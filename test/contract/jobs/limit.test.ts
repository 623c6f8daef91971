import { expect, it, onTestFinished } from 'vitest';
import { openJob, surroundings } from '../../support/jobs/command.js';
import { type InputRow, plainRows } from '../../support/jobs/folder.js';
import { boughtAgain, openSetting } from '../../support/jobs/setting.js';
import { openTemporal } from '../../support/temporal.js';

const here = surroundings(openTemporal, { failureRate: 0, textBytes: 100 });

// A slice has 40 rows. The limits below end inside a slice, at its last row, and behind it.
const rows = plainRows(100);

it('a limit buys the first rows only and shows the cost of the rest; without a limit the job buys exactly the rest', async () => {
  const { folder, run, bought } = openJob(here, rows);
  const first = await run({ limit: 50 });
  expect(first.plan).toMatchObject({ status: 'new', toBuy: 50, requests: 3, estimateMicros: 50_000 });
  expect(first.plan.rest).toEqual({ rows: 50, toBuy: 50, requests: 3, estimateMicros: 50_000 });
  expect(first.summary).toMatchObject({ phase: 'done', limit: 50, warehouse: { success: 50, missing: 50 } });
  expect(bought()).toBe(50);
  const whole = await run();
  expect(whole.plan).toMatchObject({ status: 'unfinished', toBuy: 50, alreadyBought: 50, rest: null });
  expect(whole.summary).toMatchObject({ costMicros: 50_000, warehouse: { success: 100, missing: 0, vanished: 0 } });
  expect(folder.outcomes()).toEqual(rows.map((row) => [row, 'success']));
  expect(boughtAgain(here.sandbox)).toEqual({});
});

it('a limit counts a unit on both sides once, and bad rows on their own side', async () => {
  const shared: InputRow[] = [
    ['0', 'bad', 'n/a'],
    ...plainRows(9),
    ['a', 'again', 'https://site-3.example/about'],
    ['b', 'bad', 'n/a'],
  ];
  const { run } = openJob(here, shared);
  const { plan, summary } = await run({ limit: 10 });
  expect(plan).toMatchObject({ toBuy: 9, limitedBadRows: 1, rest: { rows: 2, toBuy: 0 } });
  expect(plan.badRows).toHaveLength(1);
  expect(summary?.warehouse).toMatchObject({ success: 9, invalid: 1, missing: 2 });
  expect((await run({ limit: 500 })).plan).toMatchObject({ rest: null, toBuy: 0 });
});

it('a limit works in a workflow of any client, and its progress counts the requested rows', async () => {
  const setting = await openSetting(here.temporal);
  onTestFinished(() => setting.close());
  const job = await setting.begin(rows, { limit: 25 });
  expect(await job.result()).toMatchObject({ phase: 'done', limit: 25, warehouse: { success: 25, missing: 75 } });
  expect(await job.progress()).toMatchObject({ rows: 25, rowsDone: 25 });
  const refused = await setting.begin(rows, { limit: 0 });
  await expect(refused.result()).rejects.toMatchObject({
    cause: { type: 'BadInput', message: expect.stringContaining('limit must be a whole number of at least 1 (got 0)') },
  });
});
