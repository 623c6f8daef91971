import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { createTransport } from '../../../src/api/transport.js';
import type { JobEntry } from '../../../src/core/job-entry-schemas.js';
import { flatProfile } from '../../../src/core/limiter/rate.js';
import { pricesAt } from '../../../src/core/purchase/prices.js';
import type { Freshness } from '../../../src/core/row-job-schemas.js';
import { WarehouseBusy } from '../../../src/core/rows/warehouse-errors.js';
import { readSlice, sliceFile } from '../../../src/rows/index.js';
import type { EnrichRequest } from '../../../src/worker/config/runtime-types.js';
import { keepsRequests, makePlan } from '../../../src/worker/staging/plan.js';
import { stageEnrichment } from '../../../src/worker/staging/stage-job.js';
import { folderOfFile } from '../../support/files/folders.js';

const dir = folderOfFile();
const transport = createTransport({ baseUrl: 'http://127.0.0.1:9', apiKey: null });
afterAll(() => transport.close());

const now = Date.UTC(2026, 10, 1);
const context = { stateDir: dir, origin: 'sandbox', cwd: dir, concurrency: 50, transport, shared: false };
const common = { urlColumn: null, delimiter: null, job: null, into: null, options: {}, batch: 10 };
const period = { since: 0, landedMicros: 0, openMicros: 0, unknownMicros: 0 };
let files = 0;

/**
 * Plans a job of 25 URLs and one bad row. `landed`: number of first units that the journal has. `gone`: number of first units whose bodies
 * are lost.
 */
async function planned(setting: {
  readonly landed?: number;
  readonly gone?: number;
  /** Number of units at the end of the landed ones that are still running at the service. */
  readonly overdue?: number;
  /** Number of last units whose answers are in the warehouse. */
  readonly known?: number;
  readonly loaded?: 'all' | readonly number[] | Error | null;
  readonly request?: Partial<EnrichRequest>;
  readonly completed?: boolean;
  /** Units that an interrupted run of the job was about to buy once more. */
  readonly waiting?: number;
  /** Units that a person discarded: the last ones that have landed. */
  readonly discarded?: number;
  readonly maxCostPerJobMicros?: number;
  readonly dayMicros?: number;
  readonly limit?: number;
  /** A column after the column of URLs. */
  readonly column?: string;
}) {
  const { landed = 0, gone = 0, overdue = 0, known = 0, loaded = null, limit, waiting = 0, discarded = 0 } = setting;
  const input = `rows${++files}.csv`;
  const urls = Array.from({ length: 25 }, (_, nth) => `https://site-${files}-${nth}.example/`);
  const [header, other] = setting.column === undefined ? ['url', ''] : [`url,${setting.column}`, ',x'];
  const lines = [...urls, 'no URL', urls[0]].map((url) => `${url}${other}\n`);
  writeFileSync(join(dir, input), `${header}\n${lines.join('')}`);
  const asked = { ...common, input, ...(limit ? { limit } : {}) };
  const { staged, manifest } = await stageEnrichment(context, asked);
  const rows = [];
  for (let slice = 0; slice < staged.slices; slice++)
    rows.push(...(await readSlice(sliceFile(staged.stageDir, slice))));
  const keys = rows.flatMap(({ k }) => (k === null ? [] : [k])).slice(0, 25);
  const journal = {
    verify: async () => undefined,
    isEmpty: async () => landed === 0,
    lookup: async (wanted: readonly string[], freshness?: Freshness) => {
      const first = freshness?.rebuyBefore === undefined ? 0 : gone;
      return keys
        .slice(first, landed)
        .map((key, nth) => ({ key, errorTag: first + nth < landed - overdue ? null : 'RUN_OVERDUE' }))
        .filter(({ key, errorTag }) => wanted.includes(key) && !freshness?.retryTags?.includes(errorTag ?? ''));
    },
    caps: async () => ({ dayMicros: setting.dayMicros ?? null, monthMicros: null }),
    spent: async () => ({ day: period, month: period }),
  };
  const warehouse = {
    loadedSlices: async () => {
      if (loaded instanceof Error) throw loaded;
      return loaded === 'all' ? Array.from({ length: staged.slices }, (_, slice) => slice) : loaded;
    },
    failedUnits: async (_job: string, { marked }: { marked: 'retry' | 'discarded' }) =>
      (marked === 'retry' ? keys.slice(0, waiting) : keys.slice(landed - discarded, landed)).map((key) => ({
        ...{ key, unit: 'https://x.example/', tag: 'RUN_OVERDUE', rows: 1, slice: 0 },
      })),
    holdsAnswers: async () => known > 0,
    known: async (wanted: readonly string[]) =>
      new Map(wanted.filter((key) => keys.slice(25 - known).includes(key)).map((key) => [key, 1000])),
  };
  const request = { ...asked, retryFailed: false, rebuy: false, ...setting.request };
  const parts = {
    staged,
    manifest,
    asked: request,
    request,
    journal,
    warehouse,
    now,
    rate: flatProfile(10),
    prices: pricesAt(now),
    before:
      setting.completed || waiting > 0
        ? ({ staged, completed: setting.completed ? staged.generation : null } as unknown as JobEntry)
        : null,
    maxCostPerJobMicros: setting.maxCostPerJobMicros ?? null,
  };
  const plan = await makePlan(parts as unknown as Parameters<typeof makePlan>[0]);
  return { plan };
}

it('a column without a name of its own is named, and the plan says so', async () => {
  const { plan } = await planned({ column: 'url' });
  expect(plan.notes).toEqual(['Columns without a name of their own were named: column 2 is "url_2".']);
  expect(plan.staged.columns).toEqual(['url', 'url_2']);
});

it('a new job: each URL once, in requests of the batch, at the list price and the rate', async () => {
  const { plan } = await planned({});
  expect(plan).toMatchObject({
    ...{ status: 'new', toBuy: 25, alreadyBought: 0, requests: 3, estimateMicros: 25_000, perSecond: 10 },
    ...{ seconds: 0.3, rest: null, allowedMicros: null, notes: [] },
  });
  expect(plan.badRows).toHaveLength(1);
});

it('landed units are not bought again, and cost nothing', async () => {
  const { plan } = await planned({ landed: 16 });
  expect(plan).toMatchObject({ toBuy: 9, alreadyBought: 16, requests: 1, estimateMicros: 9000 });
});

it('a limit counts its rows, and shows the cost of the rest separately', async () => {
  const { plan } = await planned({ limit: 10, landed: 4 });
  expect(plan).toMatchObject({ toBuy: 6, estimateMicros: 6000, limitedBadRows: 0 });
  expect(plan.rest).toEqual({ rows: 17, toBuy: 15, requests: 2, estimateMicros: 15_000 });
  expect(plan.badRows).toEqual([]);
});

it('a complete job buys nothing, unless more is requested', async () => {
  const through = { loaded: 'all', completed: true, landed: 25 } as const;
  expect((await planned(through)).plan).toMatchObject({ status: 'complete', toBuy: 0, alreadyBought: 25 });
  expect((await planned({ ...through, completed: false })).plan.status).toBe('new');
  const again = await planned({ ...through, loaded: [] });
  expect(again.plan).toMatchObject({ status: 'unfinished', toBuy: 0 });
});

it('answers that only the warehouse has are used from there, and bought again only with --rebuy', async () => {
  const { plan } = await planned({ landed: 10, known: 5 });
  expect(plan).toMatchObject({ toBuy: 10, alreadyBought: 15, estimateMicros: 10_000 });
  expect(plan.notes).toEqual([
    expect.stringMatching(/^The warehouse has 5 answers, bought for \$0\.005, .* They are reused and not bought again/),
  ]);
  const rebuy = await planned({ known: 5, request: { rebuy: true } });
  expect(rebuy.plan).toMatchObject({ toBuy: 25, estimateMicros: 25_000 });
  expect(rebuy.plan.notes).toEqual([expect.stringContaining('They are bought again (--rebuy).')]);
});

it('answers whose bodies are gone are named with the command to buy them again', async () => {
  const { plan } = await planned({ landed: 10, gone: 4 });
  expect(plan.notes).toEqual([expect.stringMatching(/^4 answers were bought before, .* Pass --rebuy/)]);
});

it('runs that were left running are followed again at no cost, not bought', async () => {
  const request = { retryFailed: true };
  const { plan } = await planned({ landed: 12, overdue: 3, request });
  expect(plan).toMatchObject({ toBuy: 13, alreadyBought: 12, estimateMicros: 13_000 });
  expect(plan.notes).toEqual([
    '3 runs were left running at the service; they are followed again and not bought twice.',
  ]);
  const limited = await planned({ landed: 25, overdue: 5, limit: 10, request });
  expect(limited.plan).toMatchObject({ toBuy: 0, rest: { toBuy: 0 } });
});

it('discarded rows are not bought again with --retry-failed', async () => {
  const { plan } = await planned({ landed: 12, overdue: 3, discarded: 2, request: { retryFailed: true } });
  expect(plan).toMatchObject({
    toBuy: 13,
    alreadyBought: 12,
    notes: [expect.stringMatching(/^1 run was left running/)],
  });
});

it('rows that an interrupted run was about to buy once more are in the price', async () => {
  const { plan } = await planned({ landed: 25, waiting: 2, loaded: [] });
  expect(plan).toMatchObject({ status: 'unfinished', toBuy: 2, alreadyBought: 23, requests: 1, estimateMicros: 2000 });
  expect(plan.notes).toEqual(['This includes 2 failed units that an interrupted run was about to buy once more.']);
});

it('the plan for a busy warehouse uses the journal alone', async () => {
  const { plan } = await planned({
    landed: 25,
    loaded: new WarehouseBusy('warehouse-in-use', 'x is open in process 7', 7),
    completed: true,
  });
  expect(plan.notes).toEqual(['x is open in process 7. This plan uses the journal alone']);
  expect(plan).toMatchObject({ status: 'unfinished', toBuy: 0 });
});

it('a budget below the estimate is named: the worker’s, then the team’s', async () => {
  const { plan } = await planned({ maxCostPerJobMicros: 20_000, dayMicros: 15_000 });
  expect(plan.allowedMicros).toBe(20_000);
  expect(plan.notes).toEqual([
    expect.stringContaining("The job will pause at $0.02, the worker's cap for a run"),
    expect.stringContaining("The job will pause at $0.015, the rest of the team's budget of $0.015 for this day"),
  ]);
  const asked = { maxCostPerJobMicros: 20_000, dayMicros: 15_000, request: { maxCostDollars: 0.01 } };
  expect((await planned(asked)).plan.notes).toEqual([]);
});

it('a job keeps the requests of its last run if options and template are the same, whatever its rows', () => {
  const last = { options: { effort: 'low', a: { b: 1, c: 2 } }, template: { query: '{{name}}' }, generation: 'g1' };
  const before = { staged: last } as unknown as JobEntry;
  const keeps = (changes: object, of: JobEntry | null = before) => keepsRequests(of, { ...last, ...changes });
  expect(keeps({ generation: 'g2', options: { a: { c: 2, b: 1 }, effort: 'low' } })).toBe(true);
  expect(keeps({ options: { effort: 'high' } })).toBe(false);
  expect(keeps({ template: { query: 'What is {{name}}?' } })).toBe(false);
  expect(keeps({}, null)).toBe(false);
});
