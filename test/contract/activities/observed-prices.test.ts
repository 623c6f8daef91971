import { beforeAll, describe, expect, it } from 'vitest';
import type { ActivityDeps, Control } from '../../../src/activities/index.js';
import { rowPurchase } from '../../../src/activities/rows/enrich-slice.js';
import type { StagedJob } from '../../../src/core/job-entry-schemas.js';
import { type PriceBands, type PriceTable, priceTables } from '../../../src/core/purchase/prices.js';
import { OverBudget } from '../../../src/core/purchase/spend.js';
import type { RowOperation } from '../../../src/core/rows/row-operation.js';
import type { Json } from '../../../src/core/text/json.js';
import { startSandbox } from '../../../src/sandbox/index.js';
import { ActivitySetting } from '../../support/activities/activity-setting.js';
import { ofFile } from '../../support/of-file.js';

const real = priceTables.at(-1) as PriceTable;
/** The service charges this many times the price in the worker's price table. */
const DEARER = 2.5;

const cheaper = (dollars: number): number => dollars / DEARER;
const each = <T, U>(record: Readonly<Record<string, T>>, change: (value: T) => U): Record<string, U> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
const believed: PriceTable = {
  ...real,
  search: each(real.search, (bands: PriceBands) => bands.map(([most, dollars]) => [most, cheaper(dollars)] as const)),
  searchResult: cheaper(real.searchResult),
  contentsPage: cheaper(real.contentsPage),
  answer: cheaper(real.answer),
  research: cheaper(real.research),
  agentRun: each(real.agentRun, cheaper),
};

const setting = ofFile(() => ActivitySetting.open());
const sandbox = ofFile(() =>
  startSandbox({
    failureRate: 0,
    textBytes: 50,
    latencyMs: 40,
    agentRuns: { durationMs: 150 },
    research: { durationMs: 150 },
  }),
);
let deps: ActivityDeps;
beforeAll(async () => {
  deps = { ...setting.worker({ baseUrl: sandbox.url }), prices: () => believed };
});
interface Case {
  readonly operation: RowOperation;
  readonly options: StagedJob['options'];
  /** The charge of the service for a request, in micro-dollars. */
  readonly micros: number;
  row(number: number): string;
}

const query = (name: string) => (row: number) => JSON.stringify({ [name]: `question ${row}` } satisfies Json);
const cases: readonly Case[] = [
  { operation: 'contents', options: { text: true }, micros: 20_000, row: (row) => `https://dear-${row}.example/` },
  { operation: 'search', options: { type: 'fast', numResults: 5 }, micros: 7000, row: query('query') },
  { operation: 'answer', options: {}, micros: 5000, row: query('query') },
  { operation: 'agent', options: { effort: 'low' }, micros: 25_000, row: query('query') },
];

/** The rows for this number of requests, as one slice of a job. A request for contents has 20 URLs; any other request has one row. */
function slice({ operation, options, row }: Case, requests: number, limitMicros: number) {
  const batch = operation === 'contents' ? 20 : 1;
  const unitColumn = operation === 'contents' ? 'url' : null;
  const staged = { job: operation, operation, options, batch, unitColumn } as unknown as StagedJob;
  const units = Array.from({ length: requests * batch }, (_, index) => {
    const unit = row(index);
    return { key: deps.sha256(`${operation} ${unit}`).slice(0, 32), unit };
  });
  return rowPurchase(deps, staged, {
    segment: `${operation}/generation/000000`,
    owner: `owner of ${operation}`,
    units,
    resumedAt: 0,
    cap: { bookPrefix: `${operation}/`, limitMicros },
  });
}

const control: Control = {
  stop: new AbortController().signal,
  cut: new AbortController().signal,
  yieldAfterMs: 30_000,
};

describe(`a cap when the service is ${DEARER} times as dear as the price table`, () => {
  it.each(cases)('$operation: buys no more than the cap pays for at the real price', async (one) => {
    const { micros, operation } = one;
    const before = sandbox.bill().micros;
    const limit = 4 * micros;
    const end = await deps.purchase(slice(one, 15, limit), control).catch((error: unknown) => error);
    expect(end).toBeInstanceOf(OverBudget);
    // The limit pays for four requests at the real price, and for ten at the price of the table. Four are bought, and the fifth is not
    // sent.
    const bill = sandbox.bill().micros - before;
    expect(bill).toBe((await setting.journal.totals(`${operation}/`)).costMicros);
    expect(bill).toBe(limit);
    expect(end).toMatchObject({ scope: 'job', multiple: expect.closeTo(DEARER, 2) });
  });

  it.each(cases)('$operation: reserves the real price once it is known', async (one) => {
    const before = sandbox.bill().micros;
    const others = { ...one, row: (row: number) => one.row(1000 + row) };
    const spent = (await setting.journal.totals(`${one.operation}/`)).costMicros;
    const end = await deps.purchase(slice(others, 15, spent + one.micros), control).catch((error: unknown) => error);
    expect(end).toBeInstanceOf(OverBudget);
    expect(sandbox.bill().micros - before).toBe(one.micros);
  });

  it('a call with a maximum cost: its requests count at the cost of its first answers', async () => {
    const [contents] = cases as readonly [Case];
    const before = sandbox.bill().micros;
    const limit = 4 * contents.micros;
    const { cap: _cap, ...request } = slice({ ...contents, row: (row) => `https://call-${row}.example/` }, 15, 0);
    const end = await deps.purchase({ ...request, mostMicros: limit }, control).catch((error: unknown) => error);
    expect(end).toMatchObject({ scope: 'call', multiple: expect.closeTo(DEARER, 2) });
    expect(sandbox.bill().micros - before).toBe(limit);
  });
});
