import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { EventWarehouse } from '../../../src/core/events/event-warehouse.js';
import type { JobState } from '../../../src/core/job-entry-schemas.js';
import { pauseReasons } from '../../../src/core/rows/job-names.js';
import { gaugeBudget, gaugeStore, gaugeTemporal, meteredEvents } from '../../../src/worker/host/metrics.js';

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['Date', 'setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'],
    now: 1_000_000_000,
  });
});
afterEach(() => void vi.useRealTimers());

/** Records the gauges: name, value and labels. */
function recording() {
  const recorded: [string, number, object][] = [];
  const createGauge = (name: string) => ({
    set: (value: number, labels: object) => void recorded.push([name, value, labels]),
  });
  return { meter: { createGauge } as never, take: () => recorded.splice(0) };
}

it('the budget shows what counts under each cap, at once and every minute; 0 is no cap', async () => {
  const { meter, take } = recording();
  const period = { since: 0, landedMicros: 100, openMicros: 20, unknownMicros: 3 };
  const caps = { dayMicros: 500 as number | null, monthMicros: null };
  const close = gaugeBudget(meter, { caps: async () => caps, spent: async () => ({ day: period, month: period }) });
  await vi.advanceTimersByTimeAsync(0);
  const shown = (cap: number) => [
    ['searchflow_budget_cap_microdollars', cap, { period: 'day' }],
    ['searchflow_budget_spent_microdollars', 123, { period: 'day' }],
    ['searchflow_budget_cap_microdollars', 0, { period: 'month' }],
    ['searchflow_budget_spent_microdollars', 123, { period: 'month' }],
  ];
  expect(take()).toEqual(shown(500));
  caps.dayMicros = null;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(take()).toEqual(shown(0));
  close();
  await vi.advanceTimersByTimeAsync(600_000);
  expect(take()).toEqual([]);
});

it('the lag of a synced stream grows until a run has loaded more; a backfill has none', async () => {
  const { meter, take } = recording();
  let state = { watermark: (Date.now() - 30_000) as number | null, to: Date.now() as number | null, pending: [1] };
  const warehouse = {
    secret: 5,
    stream: async () => state,
    // Methods run on the warehouse itself.
    foldAll(this: { secret: number }) {
      return Promise.resolve(this.secret);
    },
  } as unknown as EventWarehouse;
  const { events, close } = meteredEvents(meter, { warehouse: async () => warehouse });
  const opened = await events.warehouse({ into: 'out/events.duckdb' });
  // All windows of a warehouse get the same object, so that they share its loads.
  expect(await events.warehouse({ into: 'out/events.duckdb' })).toBe(opened);
  await opened.stream({ origin: 'o', stream: 'backfill 2025..2026' });
  expect(take()).toEqual([]);
  expect(await opened.stream({ origin: 'o', stream: 'sync' })).toBe(state);
  const lag = (seconds: number) => [['searchflow_event_lag_seconds', seconds, { stream: 'sync' }]];
  expect(take()).toEqual(lag(30));
  await vi.advanceTimersByTimeAsync(15_000);
  expect(take()).toEqual(lag(45));
  // The run is done: there is no newer event than the watermark up to the end of its range.
  state = { watermark: 5, to: Date.now(), pending: [] };
  await opened.stream({ origin: 'o', stream: 'sync' });
  expect(take()).toEqual(lag(0));
  state = { watermark: null, to: null, pending: [] };
  await opened.stream({ origin: 'o', stream: 'sync webset.idle' });
  expect(take()).toEqual([]);
  expect(await opened.foldAll('o')).toBe(5);
  close();
});

it('paused jobs are counted by every reason, so that a resumed job is shown as 0', async () => {
  const { meter, take } = recording();
  const state = (reason: JobState['reason'], more: Partial<JobState> = {}) => ({
    state: { phase: 'paused' as const, reason, since: 1, ...more },
  });
  const running = state(undefined, { phase: 'running' });
  let entries = [state('credits'), state('credits'), state('key'), state('key', { cancelRequested: true }), running];
  const close = gaugeStore(meter, { unfinished: async () => entries as never });
  await vi.advanceTimersByTimeAsync(0);
  const shown = (found: Readonly<Record<string, number>>) => [
    ...pauseReasons.map((reason) => ['searchflow_paused_jobs', found[reason] ?? 0, { reason }]),
    ['searchflow_reachable', 1, { part: 'store' }],
  ];
  expect(take()).toEqual(shown({ credits: 2, key: 1 }));
  entries = [];
  await vi.advanceTimersByTimeAsync(15_000);
  expect(take()).toEqual(shown({}));
  close();
});

it('a part without an answer for ten seconds is shown as 0 and not asked a second time, until it answers', async () => {
  const { meter, take } = recording();
  const answers: ((value: unknown) => void)[] = [];
  const client = {
    withDeadline: (_: unknown, call: () => Promise<unknown>) => call(),
    workflowService: { getSystemInfo: () => new Promise((resolve) => answers.push(resolve)) },
  };
  const close = gaugeTemporal(meter, client as never);
  await vi.advanceTimersByTimeAsync(9_000);
  expect(take()).toEqual([]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(take()).toEqual([['searchflow_reachable', 0, { part: 'temporal' }]]);
  expect(answers).toHaveLength(1);
  answers[0]?.({});
  await vi.advanceTimersByTimeAsync(0);
  expect(take()).toEqual([['searchflow_reachable', 1, { part: 'temporal' }]]);
  close();
});
