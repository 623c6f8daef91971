import { rmSync } from 'node:fs';
import { beforeAll, expect, it } from 'vitest';
import type { EnrichRequest, FailedSelection } from '../../../dist/worker/config/runtime-types.js';
import { openRuntime } from '../../../dist/worker/runtime/runtime.js';
import { startSandbox } from '../../../src/sandbox/index.js';
import { enrich, serverOf } from '../../support/jobs/command.js';
import { Folder, type InputRow, plainRows } from '../../support/jobs/folder.js';
import { ofFile } from '../../support/of-file.js';
import { temporalOfFile } from '../../support/temporal.js';

const transient = ['https://site-11.example/about', 'https://site-77.example/about'];
const gone = 'https://site-42.example/about';

/**
 * 120 rows with URLs of their own, and further rows: some repeat a URL, with a line break and quotes in a cell, and some cannot be bought.
 */
const rows: InputRow[] = plainRows(120).flatMap((row, index): InputRow[] => {
  if (index % 20 === 7) return [row, [`${index}b`, 'Same page\nagain, "quoted"', 'https://site-3.example/about']];
  if (index % 30 === 9)
    return [row, [`${index}c`, 'No page', ['', 'not a url', 'ftp://files.example/x', '   '][index % 4] as string]];
  return [row];
});
const bad = rows.filter(([, , url]) => !url.startsWith('https:'));
const distinct = [...new Set(rows.map(([, , url]) => url).filter((url) => url.startsWith('https:')))];

const temporal = temporalOfFile();
const sandbox = ofFile(() =>
  startSandbox({
    failureRate: 0,
    failures: {
      [gone]: 'CRAWL_NOT_FOUND',
      [transient[0] as string]: 'CRAWL_TIMEOUT',
      [transient[1] as string]: 'CRAWL_UNKNOWN_ERROR',
    },
    transientFailures: 2,
    textBytes: 200,
  }),
);
const folder = Folder.ofFile();

const run = (changes?: Partial<EnrichRequest>) =>
  enrich(folder, folder.config(sandbox.url, serverOf(temporal)), changes);

/** Number of requests for each URL since the last call. */
let seen: Record<string, number> = {};
function askedNow(): string[] {
  const bill = sandbox.bill();
  const now: Record<string, number> = { ...bill.keys };
  for (const [key, times] of Object.entries(bill.failed)) now[key] = (now[key] ?? 0) + times;
  const before = seen;
  seen = now;
  return Object.entries(now).flatMap(([key, times]) =>
    Array<string>(times - (before[key] ?? 0)).fill(key.split(' ')[1] as string),
  );
}

beforeAll(async () => {
  folder.write(rows);
});

it('every row is loaded into the warehouse exactly once, in order, and equal URLs are bought once', async () => {
  const { plan, summary } = await run();
  expect(plan).toMatchObject({ status: 'new', toBuy: distinct.length, alreadyBought: 0 });
  expect(plan.badRows).toHaveLength(bad.length);
  // Failed URLs are requested once more at the end of the run, if their failure cost nothing and may pass.
  expect(askedNow().sort()).toEqual([...distinct, ...transient].sort());
  expect(summary?.retried).toEqual({ units: 2, failedAgain: 2 });
  expect(summary).toMatchObject({ phase: 'done', failed: 3, unknownOutcomes: 0, costMicros: sandbox.bill().micros });
  expect(summary?.totalCostMicros).toBe(sandbox.bill().micros);
  const loaded = await folder.warehouseRows();
  expect(loaded.map((row) => row.input)).toEqual(rows);
  expect(loaded.map((row) => row.row_number)).toEqual(rows.map((_, index) => index + 1));
  expect(loaded.reduce((sum, row) => sum + row.cost_micros, 0)).toBe(sandbox.bill().micros);
  const byStatus = (status: string) => loaded.filter((row) => row.status === status);
  expect(
    byStatus('error')
      .map((row) => row.url)
      .sort(),
  ).toEqual([...transient, gone].sort());
  expect(byStatus('invalid').map((row) => row.input)).toEqual(bad);
  expect(byStatus('success').every((row) => (row.text ?? '').length > 0)).toBe(true);
});

it('the CSV holds the rows in their order, with unchanged cells and the results beside them', async () => {
  const enriched = folder.enriched();
  expect(enriched.map(({ id, name, url }) => [id, name, url])).toEqual(rows);
  expect(enriched.filter(({ status }) => status === 'success')).toHaveLength(rows.length - bad.length - 3);
});

it('the same job again is complete and sends nothing', async () => {
  const { plan } = await run();
  expect(plan).toMatchObject({ status: 'complete', toBuy: 0, alreadyBought: distinct.length, estimateMicros: 0 });
  expect(askedNow()).toEqual([]);
});

it('ten rows added to the file cause ten purchases', async () => {
  folder.write([...rows.slice(0, 100), ...plainRows(10, 1000), ...rows.slice(100)]);
  const { plan, summary } = await run();
  expect(plan).toMatchObject({ status: 'changed', toBuy: 10, alreadyBought: distinct.length });
  expect(askedNow().sort()).toEqual(
    plainRows(10, 1000)
      .map(([, , url]) => url)
      .sort(),
  );
  expect(summary?.warehouse).toMatchObject({ rows: rows.length + 10, missing: 0, vanished: 0 });
  const loaded = await folder.warehouseRows();
  expect(loaded.map((row) => row.input)).toEqual([...rows.slice(0, 100), ...plainRows(10, 1000), ...rows.slice(100)]);
});

it('rows removed from the file are kept and marked as vanished, and nothing is sent', async () => {
  folder.write(rows);
  const { summary } = await run();
  expect(askedNow()).toEqual([]);
  expect(summary?.warehouse).toMatchObject({ rows: rows.length, vanished: 10, missing: 0 });
  const loaded = await folder.warehouseRows();
  expect(loaded.filter((row) => !row.vanished).map((row) => row.input)).toEqual(rows);
  expect(loaded.filter((row) => row.vanished).map((row) => row.input)).toEqual(
    expect.arrayContaining(plainRows(10, 1000)),
  );
});

it('a deleted warehouse is loaded again from the journal without a request', async () => {
  rmSync(folder.into);
  rmSync(folder.csv);
  const { plan, summary } = await run();
  expect(plan).toMatchObject({ toBuy: 0, alreadyBought: distinct.length });
  expect(askedNow()).toEqual([]);
  expect(summary).toMatchObject({ phase: 'done', costMicros: 0, requests: 0 });
  expect((await folder.warehouseRows()).map((row) => row.input)).toEqual(rows);
  expect(folder.enriched()).toHaveLength(rows.length);
});

it('--retry-failed buys the temporary failures again, and nothing else', async () => {
  const { plan, summary } = await run({ retryFailed: true });
  expect(plan.toBuy).toBe(transient.length);
  expect(askedNow().sort()).toEqual([...transient].sort());
  expect(summary?.warehouse).toMatchObject({ error: 1, tags: { CRAWL_NOT_FOUND: 1 } });
  expect((await run()).plan.status).toBe('complete');
});

it('retry buys the named failed rows again, and nothing else', async () => {
  const runtime = await openRuntime(folder.config(sandbox.url, serverOf(temporal)));
  try {
    const { staged } = (await run()).plan;
    const retry = (selection: FailedSelection) => runtime.rows.planRetry(staged.name, selection);
    expect(await retry({})).toMatchObject({ rows: 0, units: 0 });
    await expect(retry({ tags: ['CRAWL_NOT_FOUNT'] })).rejects.toThrow(/Did you mean CRAWL_NOT_FOUND\?/);
    await expect(retry({ rows: [1] })).rejects.toThrow('Row 1 has not failed');
    const badRow = rows.indexOf(bad[0] as InputRow) + 1;
    await expect(retry({ rows: [badRow] })).rejects.toThrow(/bad row .* cannot be bought/);
    const plan = await retry({ tags: ['CRAWL_NOT_FOUND'] });
    expect(plan).toMatchObject({ rows: 1, units: 1, requests: 1, estimateMicros: 1000, tags: { CRAWL_NOT_FOUND: 1 } });
    const summary = await (await (await runtime.work()).retry(plan, {})).result();
    expect(askedNow()).toEqual([gone]);
    expect(summary).toMatchObject({ phase: 'done', requests: 1, retried: { units: 1, failedAgain: 1 } });
    expect(summary.warehouse).toMatchObject({ error: 1, missing: 0 });
    expect((await run()).plan.status).toBe('complete');
  } finally {
    await runtime.close('drain');
  }
});

it('other options are shown in the plan and bought separately, and the first answers stay bought', async () => {
  const { plan, summary } = await run({ options: { summary: true } });
  expect(plan).toMatchObject({ status: 'changed', toBuy: distinct.length });
  expect(plan.notes.join()).toMatch(/options differ .* so every row is bought again/);
  expect(askedNow().sort()).toEqual([...distinct].sort());
  expect(summary?.warehouse).toMatchObject({ rows: rows.length, missing: 0 });
  const back = await run();
  expect(back.plan.toBuy).toBe(0);
  const first = await run({ options: { text: true } });
  expect(first.plan.notes.join()).toMatch(/options differ .*\. No row needs a new answer/);
  expect(askedNow()).toEqual([]);
  expect((await folder.warehouseRows()).filter((row) => !row.vanished).map((row) => row.input)).toEqual(rows);
});
