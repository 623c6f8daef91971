import { expect, it } from 'vitest';
import { openJob, surroundings } from '../../support/jobs/command.js';
import { plainRows } from '../../support/jobs/folder.js';
import { boughtAgain } from '../../support/jobs/setting.js';
import { openTemporal } from '../../support/temporal.js';

const here = surroundings(openTemporal, { failureRate: 0, textBytes: 100 });

it('--refresh-after buys again only older answers', async () => {
  const rows = plainRows(60);
  const { folder, run, bought } = openJob(here, rows);
  await run();
  expect((await run({ refreshAfterMs: 3_600_000 })).plan.toBuy).toBe(0);
  expect(bought()).toBe(60);
  expect((await run({ refreshAfterMs: 0 })).plan.toBuy).toBe(60);
  expect(Object.values(boughtAgain(here.sandbox))).toEqual(Array(60).fill(1));
  expect(await folder.warehouseRows()).toHaveLength(60);
});
