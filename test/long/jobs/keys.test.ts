import { expect, it } from 'vitest';
import { openJob, surroundings } from '../../support/jobs/command.js';
import { type InputRow, plainRows } from '../../support/jobs/folder.js';
import { boughtAgain } from '../../support/jobs/setting.js';
import { openTemporal } from '../../support/temporal.js';

const here = surroundings(openTemporal, { failureRate: 0, textBytes: 100 });
const rows = plainRows(60);
const site = (number: number) => `https://site-${number}.example/about`;

/** The rows without row 3, in another order, with a new name for row 5, another URL for row 7, and one new row. */
const edited: InputRow[] = [
  ...plainRows(1, 100),
  ...rows
    .filter(([id]) => id !== '3')
    .map(([id, name, url]): InputRow => [id, id === '5' ? 'Renamed' : name, id === '7' ? site(107) : url])
    .reverse(),
];

it('a key is kept, and a run buys new rows and rows with another URL only', async () => {
  const { folder, run, bought } = openJob(here, rows);
  const first = await run({ key: ['id'] });
  expect(first.plan.staged.key).toEqual(['id']);
  expect(first.plan.notes).toEqual([]);
  folder.write(edited);
  const second = await run();
  expect(second.plan).toMatchObject({ status: 'changed', toBuy: 2, staged: { key: ['id'] } });
  expect(second.plan.notes).toEqual(["Kept from the job's last run: --key id. Pass other options to change them."]);
  expect(second.summary?.warehouse).toMatchObject({ rows: 60, success: 60, missing: 0, vanished: 1 });
  expect(folder.outcomes()).toEqual(edited.map((row) => [row, 'success']));
  const gone = (await folder.warehouseRows()).filter(({ vanished }) => vanished);
  expect(gone.map(({ input }) => input)).toEqual([[...(rows[3] as InputRow)]]);
  expect(bought()).toBe(62);
  folder.write(rows);
  const third = await run();
  expect(third.plan).toMatchObject({ toBuy: 0 });
  expect(third.summary?.warehouse).toMatchObject({ rows: 60, success: 60, missing: 0, vanished: 1 });
  expect(folder.outcomes()).toEqual(rows.map((row) => [row, 'success']));
  expect([bought(), boughtAgain(here.sandbox)]).toEqual([62, {}]);
});

it('another key, and no key, are said in the plan and buy nothing', async () => {
  const { folder, run, bought } = openJob(here, rows);
  await run();
  const change = (was: string, is: string) =>
    `The key differs from that of the last run (${was} then, ${is} now). In this run, only rows with unchanged cells are the same rows as before.`;
  const keyed = await run({ key: ['id'] });
  expect(keyed.plan).toMatchObject({ status: 'changed', toBuy: 0, notes: [change('no key', '--key id')] });
  const other = await run({ key: ['name', 'id'] });
  expect(other.plan.notes).toEqual([change('--key id', '--key name --key id')]);
  const none = await run({ key: [] });
  expect(none.plan.notes).toEqual([change('--key name --key id', 'no key')]);
  expect(none.plan.staged.key).toBeUndefined();
  expect(none.summary?.warehouse).toMatchObject({ success: 60, vanished: 0 });
  expect((await run()).plan).toMatchObject({ status: 'complete', notes: [] });
  expect(await folder.query('SELECT count(*)::INTEGER AS rows FROM row_store')).toEqual([{ rows: 60 }]);
  expect(bought()).toBe(60);
});
