import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Worker } from '@temporalio/worker';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { SearchflowPlugin, type SearchflowPluginOptions } from '../../../dist/worker/index.js';
import type {
  EnrichedPage,
  EnrichRowsInput,
  RowFields,
  RowResult,
  RowsSummary,
} from '../../../src/core/enrich-rows-schemas.js';
import { startSandbox } from '../../../src/sandbox/sandbox.js';
import { folderOfFile } from '../../support/files/folders.js';
import { silence, temporalOfFile } from '../../support/temporal.js';
import { isLong } from '../../support/tier.js';

silence();
const temporal = temporalOfFile();
const folder = folderOfFile();
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

type Options = Partial<SearchflowPluginOptions>;

/** A worker with the plugin, and the service. `record`: the worker has a folder. */
async function open(record: boolean, options: Parameters<typeof startSandbox>[0] = {}, plugin: Options = {}) {
  const service = await startSandbox(options);
  const taskQueue = randomUUID();
  const state = record ? { stateDir: join(folder, taskQueue) } : {};
  const worker = await Worker.create({
    ...{ taskQueue, namespace: temporal.namespace, connection: temporal.nativeConnection },
    workflowBundle: { codePath: inject('teamWorkflows') },
    // Workflows run in this thread: a thread for each worker costs a second of the processor.
    debugMode: true,
    plugins: [
      new SearchflowPlugin({ apiKey: 'key', origin: 'sandbox', baseUrl: service.url, qps: 1000, ...state, ...plugin }),
    ],
  });
  const ended = worker.run();
  closing.push(service.close, async () => {
    worker.shutdown();
    await ended;
  });
  const start = (input: EnrichRowsInput, workflow = 'team') =>
    temporal.client.workflow.start(workflow, { taskQueue, workflowId: randomUUID(), args: [input] });
  const run = async <T>(workflow: string, input: EnrichRowsInput) => (await start(input, workflow)).result() as T;
  return {
    service,
    start,
    team: (input: EnrichRowsInput) =>
      run<{ results: readonly RowResult[]; left: number; most: number; summary: RowsSummary }>('team', input),
    outcomes: (input: EnrichRowsInput) =>
      run<{ results: readonly Pick<RowResult, 'index' | 'error'>[]; summary: RowsSummary }>('outcomes', input),
    /** All pages, each of which Temporal accepts. */
    pages: async (input: EnrichRowsInput) => {
      const pages: EnrichedPage[] = [];
      for (let next: EnrichRowsInput | null = input; next !== null; next = pages.at(-1)?.next ?? null) {
        pages.push(await run<EnrichedPage>('enrichRows', next));
        expect(Buffer.byteLength(JSON.stringify(pages.at(-1)))).toBeLessThan(2 * 2 ** 20);
      }
      return pages;
    },
  };
}

const urls = (count: number): RowFields[] =>
  Array.from({ length: count }, (_, nth) => ({ company: `c${nth}`, url: `https://site-${nth}.example/` }));
const failureOf = (run: Promise<unknown>): Promise<unknown> =>
  run.then(
    () => null,
    ({ cause }) => [cause.type, cause.message],
  );
const indexes = (results: readonly RowResult[]) => results.map(({ index }) => index);
const search = { operation: 'search', template: { query: '{{company}}', numResults: 1 } } as const;

// Calls of many rows are for the long tier; pages, caps and refusals are the same for few rows.
const quick = it.skipIf(isLong);
const large = it.runIf(isLong);

describe.each([false, true])('enrichRows with a record: %s', (record) => {
  quick('returns a result for each row in order, buys equal rows once, and lets a wrong row fail alone', async () => {
    const { team, service } = await open(record, { failureRate: 0 });
    const rows = [...urls(230), { company: 'bad', url: 'not a url' }, { company: 'none' }, ...urls(20)];
    const { results, left, summary } = await team({ rows });
    expect([indexes(results), left]).toEqual([rows.map((_, nth) => nth), 0]);
    expect(results.filter(({ error }) => error).map(({ index, error }) => [index, error?.tag])).toEqual([
      [230, 'INVALID_URL'],
      [231, 'MISSING_URL'],
    ]);
    expect(results[232]?.data).toEqual(results[0]?.data);
    const { micros, units, requests } = service.bill();
    // Without a record, the first request has few pages, because their size is not known yet.
    expect([units, requests, summary]).toEqual([
      230,
      record ? 3 : 4,
      { rows: 252, succeeded: 250, failed: 2, costDollars: micros / 1e6, unknownOutcomes: 0, stopped: null },
    ]);
    expect(results.reduce((sum, { costDollars }) => sum + costDollars, 0)).toBeCloseTo(micros / 1e6);
  });

  quick('holds the cap, and says so in the rows that it does not allow', async () => {
    const { team, service } = await open(record);
    const { results, summary } = await team({ ...search, rows: urls(60), maxCostDollars: 0.25 });
    expect(service.bill().micros).toBeLessThanOrEqual(250_000);
    expect(service.bill().micros).toBeGreaterThan(200_000);
    expect(summary).toMatchObject({ costDollars: service.bill().micros / 1e6, stopped: { tag: 'BudgetExceeded' } });
    const bought = results.filter(({ status }) => status === 'success');
    expect([bought.length, results.length]).toEqual([service.bill().requests, 60]);
    expect(results.at(-1)).toMatchObject({ index: 59, data: null, error: { tag: 'BudgetExceeded' } });
  });

  const wrong = [
    [
      { ...search, rows: urls(2), maxCostDolars: 1 },
      'maxCostDolars is not a field of enrichRows; did you mean maxCostDollars?',
    ],
    [
      { operation: 'search', rows: urls(2), template: { query: '{{company}}', numResuts: 1 } },
      'numResuts is not a field of search; did you mean numResults?',
    ],
    [{ operation: 'search', rows: urls(2), template: { query: '{{compny}}' } }, 'did you mean {{company}}?'],
    [{ operation: 'search', rows: urls(2), requests: [] }, 'either rows or requests'],
    [{ ...search, rows: [null] as never }, 'a list of objects'],
    [{ ...search, rows: urls(2), concurrency: 0 }, 'concurrency must be a whole number from 1 to 1000 (got 0).'],
    [{ operation: 'answer', requests: [...Array(2500).fill({ query: 'a' }), { qurey: 'b' }] }, 'requests[2500]: '],
    [{ rows: urls(2), urlField: 'web' }, 'There is no column "web"'],
  ] as const;
  quick('refuses a request that is wrong for all rows before anything is bought', async () => {
    const { team, service } = await open(record);
    for (const [input, sentence] of wrong)
      expect(await failureOf(team(input as EnrichRowsInput))).toEqual(['BadInput', expect.stringContaining(sentence)]);
    expect(service.log()).toEqual([]);
  });

  quick('takes whole requests, and refuses a wrong one alone', async () => {
    const { team, service } = await open(record);
    const requests: RowFields[] = [{ query: 'who?' }, { query: 'when?' }, { query: '' }, { query: 'who?' }];
    const { results } = await team({ operation: 'answer', requests });
    expect(results.map(({ status }) => status)).toEqual(['success', 'success', 'error', 'success']);
    expect([results[2]?.error?.tag, service.bill().requests]).toEqual(['INVALID_REQUEST', 2]);
  });

  quick('returns pages to a client, each with the input of the next one', async () => {
    const { pages: all, service } = await open(record, { failureRate: 0, textBytes: 9000 });
    const rows = urls(300);
    const pages = await all({ rows, maxCostDollars: 1 });
    expect(indexes(pages.flatMap(({ results }) => results))).toEqual(rows.map((_, nth) => nth));
    const { micros, units } = service.bill();
    const sum = (field: 'rows' | 'costDollars') => pages.reduce((all, { summary }) => all + summary[field], 0);
    expect([units, sum('rows')]).toEqual([300, 300]);
    expect(sum('costDollars')).toBeCloseTo(micros / 1e6);
    const costs = pages.flatMap(({ results }) => results.map(({ costDollars }) => costDollars));
    expect(costs).toEqual(rows.map(() => micros / 300e6));
    expect(pages[0]?.next?.maxCostDollars).toBeCloseTo(1 - (pages[0]?.summary.costDollars ?? 0));
  });

  quick('holds the cap over all pages', async () => {
    const { pages: all, service } = await open(record, { failureRate: 0, textBytes: 9000 });
    const pages = await all({ rows: urls(300), maxCostDollars: 0.25 });
    expect(indexes(pages.flatMap(({ results }) => results))).toHaveLength(300);
    const { tag, message } = pages.at(-1)?.summary.stopped ?? {};
    expect([tag, message]).toEqual([
      'BudgetExceeded',
      expect.stringMatching(record ? /: \$0\.25 is spent, or reserved/ : /of \$0\.25 is spent$/),
    ]);
    expect(service.bill().micros).toBeLessThanOrEqual(250_000);
    expect(service.bill().micros).toBeGreaterThan(200_000);
  });

  large.each([
    ['rows that cannot be bought', Array.from({ length: 12_000 }, () => ({ url: 'bad' })), 0],
    ['rows near 1 MiB', urls(900).map((row) => ({ ...row, note: 'é'.repeat(500) })), 900],
    ['equal rows with large answers', Array.from({ length: 600 }, (_, nth) => urls(3)[nth % 3] as RowFields), 3],
  ])('returns pages that Temporal accepts for %s', async (_, rows, units) => {
    const { pages: all, service } = await open(record, { failureRate: 0, textBytes: 9000 });
    const pages = await all({ rows });
    expect(pages.length).toBeGreaterThan(1);
    expect(indexes(pages.flatMap(({ results }) => results))).toEqual(rows.map((__, nth) => nth));
    // Without a record, each page buys its rows.
    expect(service.bill().units).toBeGreaterThanOrEqual(units);
    expect(service.bill().units).toBeLessThanOrEqual(record ? units : units * pages.length);
  });

  quick('hands out batches that an activity may get', async () => {
    const { team } = await open(record, { failureRate: 0, textBytes: 9000 });
    const { results, most } = await team({ rows: [...urls(95), ...urls(95)] });
    expect(indexes(results)).toEqual([...results.keys()]);
    expect(most).toBeLessThan(2 ** 20);
  });

  quick('a cancelled call sends no request that waits for its turn', async () => {
    const { start, service } = await open(record, { failureRate: 0, latencyMs: 300, qps: 10 }, { qps: 10 });
    const call = await start({ ...search, rows: urls(100) });
    await expect.poll(() => service.log().length, { timeout: 20_000 }).toBeGreaterThan(20);
    await call.cancel();
    const sent = service.log().length;
    expect(await failureOf(call.result())).toBeTruthy();
    expect(service.log().length - sent).toBeLessThan(15);
  });

  quick('rejects if the service refuses the key, and keeps what it has if the credits end', async () => {
    const refused = await open(record, { keys: ['another'] });
    expect(await failureOf(refused.team({ rows: urls(1) }))).toEqual(['Unauthorized', expect.any(String)]);
    const poor = await open(record, { credits: 0.1 });
    const { results, summary } = await poor.team({ ...search, rows: urls(40), concurrency: 1 });
    expect(summary.stopped).toMatchObject({ tag: 'PaymentRequired' });
    expect([results.length, summary.succeeded > 0, summary.failed > 0]).toEqual([40, true, true]);
    expect(summary.costDollars).toBe(poor.service.bill().micros / 1e6);
  });
});

quick.each([
  [30_000, 45, 'success'],
  [400_000, 4, 'success'],
  [2_500_000, 2, 'ResultTooLarge'],
] as const)('without a record, a page fails only if it fits no history (%d bytes)', async (textBytes, count, end) => {
  const { team, service } = await open(false, { failureRate: 0, textBytes });
  const { results, summary } = await team({ rows: urls(count), maxCostDollars: count / 1000 });
  expect(results.map(({ status, error }) => error?.tag ?? status)).toEqual(Array(count).fill(end));
  expect([summary.costDollars, service.bill().units]).toEqual([service.bill().micros / 1e6, count]);
});

quick.each<[EnrichRowsInput, number]>([
  [{ rows: urls(5000) }, 5000 / 25],
  [{ ...search, rows: urls(40) }, 40 * 4],
])('without a record, answers reach the workflow together, so that its history is short', async (input, most) => {
  const { start } = await open(false, { failureRate: 0, latencyMs: 300, qps: 20, textBytes: 100 }, { qps: 20 });
  const call = await start(input, 'outcomes');
  await call.result();
  expect((await call.fetchHistory()).events?.length).toBeLessThanOrEqual(most);
});

large.each([false, true])('record %s: a call ends before the history is full, and loses nothing', async (record) => {
  const { outcomes, service } = await open(record, { failureRate: 0, textBytes: 12_000 });
  const { results, summary } = await outcomes({ rows: urls(4500) });
  const left = results.filter(({ error }) => error?.tag === 'HISTORY_FULL').length;
  const bought = results.filter(({ error }) => error === null).length;
  expect([summary.stopped?.tag, bought, bought + left]).toEqual(['HISTORY_FULL', summary.succeeded, 4500]);
  expect(bought).toBeGreaterThan(2000);
  // The record has answers for which the last activities had no room.
  expect(service.bill().units - bought).toBeLessThanOrEqual(record ? 500 : 0);
});

large('without a record, child workflows make the requests of a large call, also for rows outside ASCII', async () => {
  const { team, service } = await open(false, { failureRate: 0 });
  const rows = urls(1100).map((row) => ({ ...row, note: '検索'.repeat(190) }));
  const { results, summary } = await team({ ...search, rows, maxCostDollars: 8 });
  expect(indexes(results)).toEqual([...rows.keys()]);
  expect([summary.succeeded, service.bill().requests]).toEqual([1100, 1100]);
});

large('a refusal in a child workflow keeps what the call has, and is told as the refusal', async () => {
  const { team, service } = await open(false, { failureRate: 0, credits: 0.1 });
  const { results, summary } = await team({ ...search, rows: urls(1100) });
  expect([summary.stopped?.tag, summary.succeeded > 0, results.length]).toEqual(['PaymentRequired', true, 1100]);
  expect(summary.costDollars).toBeCloseTo(service.bill().micros / 1e6);
  const none = await open(false, { keys: ['another'] });
  expect(await failureOf(none.team({ ...search, rows: urls(1100) }))).toEqual(['Unauthorized', expect.any(String)]);
});

large('a cancelled call waits for its child workflows, which have what was paid', async () => {
  const { service, start } = await open(false, { failureRate: 0, latencyMs: 300 }, { qps: 100 });
  const call = await start({ ...search, rows: urls(1100) });
  await expect.poll(() => service.bill().requests, { timeout: 20_000 }).toBeGreaterThan(30);
  await call.cancel();
  expect(await failureOf(call.result())).toBeTruthy();
  const query = `RootWorkflowId = '${call.workflowId}'`;
  const states = async () => {
    const all: string[] = [];
    for await (const { status } of temporal.client.workflow.list({ query })) all.push(status.name);
    return all;
  };
  await expect.poll(states).toEqual(Array(4).fill('CANCELLED'));
});

quick('with a record, rows that were bought before are free', async () => {
  const { team, service } = await open(true, { failureRate: 0 });
  const first = await team({ ...search, rows: urls(30) });
  const again = await team({ ...search, rows: urls(30), maxCostDollars: 0 });
  expect(again.results.map(({ data }) => data)).toEqual(first.results.map(({ data }) => data));
  expect([again.summary.costDollars, service.bill().requests]).toEqual([0, 30]);
});
