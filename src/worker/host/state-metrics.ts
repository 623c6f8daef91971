import type { MetricMeter } from '@temporalio/common';
import type { WalkWarehouses } from '../../activities/base/deps.js';
import type { EventWarehouse, StreamState } from '../../core/events/event-warehouse.js';
import type { PeriodSpend, Spend } from '../../core/purchase/spend.js';

/** Interval of the gauges of the budget, whose sums are a statement of the store. */
const BUDGET_MS = 60_000;
const LAG_MS = 15_000;
/** Most streams with a gauge: each list of event types is a stream of its own. */
const MOST_STREAMS = 20;

/** Shows the team's spend and caps of the current UTC day and month. A cap of 0 means that there is none. Returns a function that ends it. */
export function gaugeBudget(meter: MetricMeter, spend: Pick<Spend, 'caps' | 'spent'>): () => void {
  const spent = meter.createGauge(
    'searchflow_budget_spent_microdollars',
    'float',
    '',
    "The team's spend of the current UTC day or month, with requests in flight and unknown outcomes, in millionths of a dollar",
  );
  const cap = meter.createGauge(
    'searchflow_budget_cap_microdollars',
    'float',
    '',
    "The team's cap of a UTC day or month, in millionths of a dollar; 0: none",
  );
  const gauge = async () => {
    const [caps, sums] = await Promise.all([spend.caps(), spend.spent()]);
    for (const [period, capMicros] of [['day', caps.dayMicros] as const, ['month', caps.monthMicros] as const]) {
      cap.set(capMicros ?? 0, { period });
      spent.set(countedOf(sums[period]), { period });
    }
  };
  const update = () => void gauge().catch(() => undefined);
  update();
  const timer = setInterval(update, BUDGET_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** The amount that counts under a cap. */
const countedOf = ({ landedMicros, openMicros, unknownMicros }: PeriodSpend): number =>
  landedMicros + openMicros + unknownMicros;

/** Adds the lag of each stream that this process syncs: the age of the time up to which all events are loaded. */
export function meteredEvents(
  meter: MetricMeter,
  events: WalkWarehouses,
): { readonly events: WalkWarehouses; close(): void } {
  const lag = meter.createGauge(
    'searchflow_event_lag_seconds',
    'float',
    's',
    'Age of the time up to which all events of a stream are loaded',
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
  const timer = setInterval(show, LAG_MS);
  timer.unref();
  return {
    events: {
      ...events,
      warehouse: async (walk) => withLag(await events.warehouse(walk), seen),
    },
    close: () => clearInterval(timer),
  };
}

type Seen = (stream: string, state: StreamState | null) => void;

/** The time up to which all events are loaded. The watermark is the newest event, so a completed run without new events is newer. */
function loadedUpTo(state: StreamState | null): number | null {
  if (state === null) return null;
  const { watermark, to, pending } = state;
  return pending.length === 0 && to !== null ? Math.max(watermark ?? 0, to) : watermark;
}

/** The warehouse, which reports each state of a stream that it returns. The other methods run on the warehouse itself. */
function withLag(warehouse: EventWarehouse, seen: Seen): EventWarehouse {
  return new Proxy(warehouse, {
    get(found, name) {
      const value: unknown = Reflect.get(found, name, found);
      if (typeof value !== 'function') return value;
      if (name !== 'stream') return value.bind(found);
      return async (key: Parameters<EventWarehouse['stream']>[0]) => {
        const state = await found.stream(key);
        seen(key.stream, state);
        return state;
      };
    },
  });
}
