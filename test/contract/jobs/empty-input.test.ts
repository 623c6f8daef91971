import { readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { expect, it } from 'vitest';
import { openJob, surroundings } from '../../support/jobs/command.js';
import { plainRows } from '../../support/jobs/folder.js';
import { openTemporal } from '../../support/temporal.js';

const here = surroundings(openTemporal, { failureRate: 0, textBytes: 100 });

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
