import { CancellationScope, proxyActivities } from '@temporalio/workflow';
import { enrichRows, operations } from '../../../dist/workflows/operations.js';
import type { AllActivities } from '../../../src/activities/index.js';
import type { EnrichRowsInput, RowResult } from '../../../src/core/enrich-rows-schemas.js';

const { search } = operations({ receipts: true, heartbeatTimeout: '2 seconds' });
const { getContents } = operations();
const activities = proxyActivities<AllActivities>({
  startToCloseTimeout: '1 minute',
  heartbeatTimeout: '10s',
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
});

/** Makes one call of the activity of an operation. */
export const contentsOnce = (...args: Parameters<AllActivities['getContents']>): Promise<unknown> =>
  activities.getContents(...args);

/** Makes one search, as a team's own workflow does. */
export const searchOnce = async (query: string) => search({ query, numResults: 1 });

/** Makes one search on the workers of another task queue. */
export const searchOn = async (taskQueue: string, query: string) =>
  operations({ taskQueue, receipts: true, retry: { initialInterval: '100ms' } }).search({ query, numResults: 1 });

/** Finds a page and reads it. */
export async function brief(company: string): Promise<unknown> {
  const { results } = await operations().search({ query: `${company} official site`, numResults: 1 });
  return (await getContents({ urls: [results[0]?.url ?? ''], text: true })).results;
}

/** Makes searches, two at a time, and cancels one that waits for its place. */
export async function twoAtATime(queries: readonly string[]): Promise<readonly string[]> {
  const { search: one } = operations({ concurrency: 2 });
  const calls = queries.map((query) => one({ query, numResults: 1 }));
  const cancelled = CancellationScope.cancellable(async () => {
    const call = one({ query: 'cancelled', numResults: 1 });
    CancellationScope.current().cancel();
    await call;
  }).catch((error: Error) => error.name);
  return [(await cancelled) as string, ...(await Promise.all(calls)).map(() => 'found')];
}

/** Makes searches, five at a time. */
export async function fiveAtATime(queries: readonly string[]): Promise<number> {
  const { search: one } = operations({ concurrency: 5 });
  return (await Promise.all(queries.map((query) => one({ query, numResults: 1 })))).length;
}

/** Enriches rows, and shows the batches in which they came. */
export async function team(input: EnrichRowsInput): Promise<unknown> {
  const batches: (readonly RowResult[])[] = [];
  const { results, summary } = await enrichRows(input, { onBatch: (batch) => void batches.push(batch) });
  const most = Math.max(...batches.map((batch) => JSON.stringify(batch).length));
  return { results: batches.flat(), left: results.length, most, summary };
}

/** Enriches rows, and returns what became of each. */
export async function outcomes(input: EnrichRowsInput): Promise<unknown> {
  const { results, summary } = await enrichRows(input, { heartbeatTimeout: '3 seconds' });
  return { results: results.map(({ index, error }) => ({ index, error })), summary };
}

export * from '../../../dist/workflows/index.js';
