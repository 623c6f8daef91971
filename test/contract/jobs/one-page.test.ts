import { rmSync } from 'node:fs';
import { expect, it } from 'vitest';
import { openRuntime } from '../../../dist/worker/runtime/runtime.js';
import { openJob, surroundings } from '../../support/jobs/command.js';
import type { InputRow } from '../../support/jobs/folder.js';
import { forget } from '../../support/jobs/forgetting.js';
import { openTemporal } from '../../support/temporal.js';

const down = 'https://down.example.com/';
const here = surroundings(openTemporal, {
  ...{ failureRate: 0, textBytes: 100, transientFailures: 100, failures: { [down]: 'CRAWL_TIMEOUT' } },
});

const spellings = [
  'https://up.example.com',
  'https://up.example.com/',
  'HTTPS://UP.EXAMPLE.COM/',
  'https://up.example.com:443/',
  'https://up.example.com/#team',
];
const others = ['https://up.example.com/#/team', 'https://www.up.example.com/', 'https://up.example.com/%7eann'];
const rowsOf = (urls: readonly string[]): InputRow[] => urls.map((url, index) => [String(index), `Row ${index}`, url]);

it('a page is bought once under all spellings, and found under each of them', async () => {
  const { folder, run, config, bought } = openJob(here, rowsOf([...spellings, ...others]));
  const ask = (changes: object = {}) => run({ csv: null, ...changes });
  const { plan, summary } = await ask();
  expect(plan).toMatchObject({ toBuy: 4, notes: ['8 spellings of URLs name 4 pages; each page is bought once.'] });
  expect(summary).toMatchObject({ phase: 'done', requests: 1, warehouse: { rows: 8, success: 8 } });
  expect(bought()).toBe(4);
  expect(summary?.totalCostMicros).toBe(here.sandbox.bill().micros);

  const runtime = await openRuntime(config);
  try {
    for (const [index, url] of spellings.entries())
      expect(await runtime.rows.trace('rows', { url })).toMatchObject({
        row: index + 1,
        unit: url,
        state: 'success',
        sharedWith: { rows: 4 },
        attempts: [{ outcome: 'landed' }],
        input: [{ value: String(index) }, { value: `Row ${index}` }, { value: url }],
      });
    const spelled = await runtime.rows.trace('rows', { url: 'HTTPS://up.example.com:443/~ann#top' });
    expect(spelled).toMatchObject({ row: 8, unit: others[2] });
  } finally {
    await runtime.close('drain');
  }

  // A later job has other spellings.
  folder.write(rowsOf(['Https://UP.example.com:443#a', 'https://up.example.com/x/../~ann']));
  expect(await ask({ job: 'later' })).toMatchObject({
    plan: { toBuy: 0, alreadyBought: 2 },
    summary: { phase: 'done', requests: 0, warehouse: { success: 2 } },
  });
  // A new store knows the answers from the warehouse alone.
  rmSync(folder.stateDir, { recursive: true, force: true });
  folder.write(rowsOf(['HTTPS://up.example.com?', 'HTTPS://up.example.com', 'https://UP.example.com/%7Eann']));
  expect(await ask({ job: 'adopted' })).toMatchObject({ plan: { toBuy: 1 }, summary: { requests: 1 } });
  expect(bought()).toBe(5);

  const { plan: forgotten } = await forget(config, { url: 'https://UP.EXAMPLE.COM:443/%7e%61nn' });
  expect(forgotten).toMatchObject({ units: 1, rows: 3 });
  expect((await forget(config, { url: 'up.example.com' })).plan).toMatchObject({ units: 1, rows: 7 });
  expect(await ask({ job: 'last' })).toMatchObject({ plan: { toBuy: 0, alreadyBought: 3 } });
  expect(bought()).toBe(5);
});

it('failed spellings of one page are one failed unit, which is retried once', async () => {
  const { folder, run, config } = openJob(here, rowsOf([down, 'HTTPS://down.example.com:443/']));
  expect((await run()).summary).toMatchObject({ failed: 1, retried: { units: 1 } });
  const runtime = await openRuntime(config);
  try {
    const plan = await runtime.rows.planRetry('rows', { tags: ['CRAWL_TIMEOUT'] });
    expect(plan).toMatchObject({ units: 1 });
  } finally {
    await runtime.close('drain');
  }
  expect(await folder.warehouseRows()).toHaveLength(2);
});
