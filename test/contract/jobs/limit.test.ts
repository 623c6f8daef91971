import { readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
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
});

it('a CSV that has only its header left marks all rows as vanished, and rows that come back are not bought again', async () => {
  const rows = plainRows(3);
  const { folder, run, bought } = openJob(here, rows);
  await run();
  folder.write([]);
  const header = readFileSync(folder.input, 'utf8');
  const { plan, summary } = await run();
  expect(plan).toMatchObject({
    status: 'changed',
    toBuy: 0,
    notes: ['The input has no rows: all 3 rows of the last run are marked as vanished, and kept.'],
  });
  expect(summary).toMatchObject({ phase: 'done', requests: 0, warehouse: { rows: 0, success: 0, vanished: 3 } });
  expect(await folder.query(`SELECT count(*)::INTEGER AS n FROM "${plan.staged.name}"`)).toEqual([{ n: 0 }]);
  expect(readFileSync(folder.csv, 'utf8').split('\n')).toEqual([expect.stringContaining(header.trim()), '']);
  expect((await run()).plan).toMatchObject({ status: 'complete', notes: ['The input has no rows.'] });
  folder.write(rows);
  expect((await run()).summary?.warehouse).toMatchObject({ rows: 3, success: 3, vanished: 0 });
  expect(bought()).toBe(3);
  writeFileSync(folder.input, '');
  await expect(run()).rejects.toThrow('The input is empty: it has no header and no rows');
  writeFileSync(folder.input, header);
  await expect(run({ job: 'another' })).rejects.toThrow(
    `${basename(folder.input)}: The input has a header, but no rows`,
  );
});
