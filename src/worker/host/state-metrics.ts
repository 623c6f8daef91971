import type { Client } from '@temporalio/client';
import type { MetricMeter } from '@temporalio/common';
import type { WalkWarehouses } from '../../activities/base/deps.js';
import { type EventWarehouse, loadedUpTo, type StreamState } from '../../core/events/event-warehouse.js';
import { onceForEach } from '../../core/processes/once-for-each.js';
import { committed, type Spend } from '../../core/purchase/spend.js';
import type { JobEntries } from '../../core/rows/job-entries.js';
import { pauseReasons } from '../../core/rows/job-names.js';
import { every, gaugeOf, over } from './metrics.js';

/** Interval of the gauges of the budget, whose sums are a statement of the store. */
const BUDGET_MS = 60_000;
const LAG_MS = 15_000;
/** Interval of the gauges of the store and Temporal, and how long their answer may take. */
const PROBE_MS = 15_000;
const ANSWER_MS = 10_000;
/** Most streams with a gauge: each list of event types is a stream of its own. */
const MOST_STREAMS = 20;

/** Shows the team's spend and caps of the current UTC day and month. A cap of 0 means that there is none. Returns a function that ends it. */
export function gaugeBudget(meter: MetricMeter, spend: Pick<Spend, 'caps' | 'spent'>): () => void {
  const spent = gaugeOf(
    meter,
    'searchflow_budget_spent_microdollars',
    "The team's spend of the current UTC day or month, with requests in flight and unknown outcomes, in millionths of a dollar",
  );
  const cap = gaugeOf(
    meter,
    'searchflow_budget_cap_microdollars',
    "The team's cap of a UTC day or month, in millionths of a dollar; 0: none",
  );
  const gauge = async () => {
    const [caps, sums] = await Promise.all([spend.caps(), spend.spent()]);
    for (const [period, capMicros] of [['day', caps.dayMicros] as const, ['month', caps.monthMicros] as const]) {
      cap.set(capMicros ?? 0, { period });
      spent.set(committed(sums[period]), { period });
    }
  };
  void gauge().catch(() => undefined);
  return every(BUDGET_MS, gauge);
}

/** Shows the paused jobs of the store by reason, and whether the store answers. Returns a function that ends it. */
export function gaugeStore(meter: MetricMeter, entries: Pick<JobEntries, 'unfinished'>): () => void {
  const paused = gaugeOf(meter, 'searchflow_paused_jobs', 'Paused jobs of the store, by reason');
  return probe(meter, 'store', async () => {
    // A cancelled job waits for its end only.
    const unfinished = (await entries.unfinished()).map(({ state }) => state);
    const states = unfinished.filter(({ phase, cancelRequested }) => phase === 'paused' && !cancelRequested);
    for (const reason of pauseReasons) paused.set(states.filter((state) => state.reason === reason).length, { reason });
  });
}

/** Shows whether the Temporal server answers this process and accepts its login. Returns a function that ends it. */
export function gaugeTemporal(
  meter: MetricMeter,
  client: Pick<Client, 'workflowService' | 'withDeadline'>,
): () => void {
  return probe(meter, 'temporal', async () => {
    await client.withDeadline(Date.now() + ANSWER_MS, () => client.workflowService.getSystemInfo({}));
  });
}

/** Asks at intervals and shows whether an answer came in time. A question without an answer is not asked a second time. */
function probe(meter: MetricMeter, part: 'store' | 'temporal', ask: () => Promise<void>): () => void {
  const reachable = gaugeOf(meter, 'searchflow_reachable', 'Whether the store or Temporal answers this worker: 1 or 0');
  const show = (answers: boolean) => reachable.set(answers ? 1 : 0, { part });
  let asking = false;
  const update = async () => {
    if (asking) return;
    asking = true;
    const late = setTimeout(() => show(false), ANSWER_MS);
    late.unref();
    const answered = await ask().then(
      () => true,
      () => false,
    );
    clearTimeout(late);
    asking = false;
    show(answered);
  };
  void update();
  return every(PROBE_MS, update);
}

/** Adds the lag of each stream that this process syncs: the age of the time up to which all events are loaded. */
export function meteredEvents(
  meter: MetricMeter,
  events: WalkWarehouses,
): { readonly events: WalkWarehouses; close(): void } {
  const lag = gaugeOf(
    meter,
    'searchflow_event_lag_seconds',
    'Age of the time up to which all events of a stream are loaded',
    's',
  );
  const loaded = new Map<string, number>();
  const show = () => {
    for (const [stream, upTo] of loaded) lag.set(Math.max(0, (Date.now() - upTo) / 1000), { stream });
  };
  const seen: Seen = (stream, state) => {
    const upTo = loadedUpTo(state);
    // A backfill has an end, so it has no lag.
    if (upTo === null || !/^sync\b/.test(stream)) return;
    if (!loaded.has(stream) && loaded.size >= MOST_STREAMS) return;
    loaded.set(stream, upTo);
    show();
  };
  // Each warehouse is wrapped once, because the windows of all walks into one warehouse share its loads.
  const watched = onceForEach((warehouse: EventWarehouse) => withLag(warehouse, seen));
  return {
    events: {
      ...events,
      warehouse: async (walk) => watched(await events.warehouse(walk)),
    },
    close: every(LAG_MS, show),
  };
}

type Seen = (stream: string, state: StreamState | null) => void;

/** The warehouse, which reports each state of a stream that it returns. */
function withLag(warehouse: EventWarehouse, seen: Seen): EventWarehouse {
  return over(warehouse, {
    async stream(key) {
      const state = await warehouse.stream(key);
      seen(key.stream, state);
      return state;
    },
  });
}
