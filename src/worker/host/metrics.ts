import { Context, type Info } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { ApplicationFailure, ApplicationFailureCategory, CancelledFailure, type MetricMeter } from '@temporalio/common';
import type { WalkWarehouses } from '../../activities/base/deps.js';
import type { AllActivities } from '../../activities/index.js';
import type { Transport } from '../../api/transport.js';
import type { Endpoint } from '../../api/wire/endpoint.js';
import { ApiError } from '../../api/wire/errors.js';
import { type EventWarehouse, loadedUpTo, type StreamState } from '../../core/events/event-warehouse.js';
import type { Limiter } from '../../core/limiter/limiter.js';
import { onceForEach } from '../../core/processes/once-for-each.js';
import { committed, type Spend } from '../../core/purchase/spend.js';
import type { JobEntries } from '../../core/rows/job-entries.js';
import { jobOfWorkflow } from '../../core/rows/job-ids.js';
import { pauseReasons } from '../../core/rows/job-names.js';
import type { PurchaseJournal, WorkerStore } from '../store/store.js';

/** Upper bounds of the histograms' buckets, in seconds. */
export const histogramBuckets: Readonly<Record<string, number[]>> = {
  searchflow_grant_wait_seconds: [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 3600],
  searchflow_request_seconds: [0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 120],
};

/** Interval of the gauges; reading a shared limit takes a statement. */
const GAUGES_MS = 5000;

/** Most error tags with a time series of their own. */
const MOST_TAGS = 50;

/**
 * Adds metrics to the store of a worker, for the exporter of the SDK's runtime. Labels are names of operations, outcomes and rate classes,
 * never a key, URL or job. The metrics are documented in docs/reference/metrics.md.
 */
export function metered(meter: MetricMeter, working: WorkerStore): { readonly working: WorkerStore; close(): void } {
  const limit = meteredLimiter(meter, working.limiter);
  return {
    working: { ...working, limiter: limit.limiter, journal: meteredJournal(meter, working.journal) },
    close: limit.close,
  };
}

/** Counts the requests to the service and their times. */
export function requestMetrics(meter: MetricMeter): Observer {
  const requests = meter.createCounter('searchflow_requests', '', 'Requests sent to the service, by outcome');
  const refused = meter.createCounter('searchflow_rate_limited', '', 'Answers 429');
  const seconds = secondsOf(meter, 'searchflow_request_seconds', 'Time from sending a request to its complete answer');
  return {
    request: async ({ name: operation }, call) => {
      const startedAt = performance.now();
      const ended = (outcome: string) => {
        requests.add(1, { operation, outcome });
        seconds.record((performance.now() - startedAt) / 1000, { operation });
      };
      try {
        const answer = await call();
        ended('ok');
        return answer;
      } catch (error) {
        const failed = failedRequest(error);
        if (!failed) throw error;
        ended(failed.verdict.type);
        if (failed.facts.status === 429) refused.add(1, { operation });
        throw error;
      }
    },
  };
}

/** A gauge of numbers that may have fractions. */
const gaugeOf = (meter: MetricMeter, name: string, text: string, unit = '') =>
  meter.createGauge(name, 'float', unit, text);

const secondsOf = (meter: MetricMeter, name: string, text: string) => meter.createHistogram(name, 'float', 's', text);

/** Does work again and again, whether it fails or not. Returns a function that ends it. */
function every(ms: number, work: () => Promise<void> | void): () => void {
  const timer = setInterval(() => void Promise.resolve(work()).catch(() => undefined), ms);
  timer.unref();
  return () => clearInterval(timer);
}

function meteredLimiter(meter: MetricMeter, limiter: Limiter): { readonly limiter: Limiter; close(): void } {
  const waited = secondsOf(meter, 'searchflow_grant_wait_seconds', 'Time spent waiting for the rate limit');
  const units = meter.createCounter('searchflow_rate_units', '', 'Units of the rate limit that this process used');
  const limit = gaugeOf(meter, 'searchflow_rate_limit', 'Configured units per second', '1/s');
  const effective = gaugeOf(meter, 'searchflow_rate_limit_effective', 'Units per second after margins', '1/s');
  const utilisation = gaugeOf(meter, 'searchflow_rate_utilisation', 'Share of the limit used in the last second');
  const blocked = gaugeOf(meter, 'searchflow_blocked_seconds', 'Time until the current block ends', 's');
  const gauge = async () => {
    const { buckets, blockedUntil } = await limiter.view();
    for (const bucket of buckets) {
      limit.set(bucket.qps, { bucket: bucket.name });
      effective.set(bucket.effectiveQps, { bucket: bucket.name });
      utilisation.set(bucket.used / bucket.qps, { bucket: bucket.name });
    }
    blocked.set(Math.max(0, ((blockedUntil ?? 0) - Date.now()) / 1000));
  };
  return {
    limiter: over(limiter, {
      async acquire(rateCost, signal) {
        const askedAt = performance.now();
        const grant = await limiter.acquire(rateCost, signal);
        waited.record((performance.now() - askedAt) / 1000, { rate_class: rateCost.rateClass });
        return grant;
      },
      async start(grant, signal) {
        const go = await limiter.start(grant, signal);
        if (go === 'go') units.add(grant.rateCost.weight, { rate_class: grant.rateCost.rateClass });
        return go;
      },
    }),
    close: every(GAUGES_MS, gauge),
  };
}

function meteredJournal(meter: MetricMeter, journal: PurchaseJournal): PurchaseJournal {
  const spent = meter.createCounter('searchflow_spent_microdollars', '', 'Landed purchases, in millionths of a dollar');
  const unknown = meter.createCounter('searchflow_unknown_outcomes', '', 'Purchases whose answer was lost');
  const risked = meter.createCounter(
    'searchflow_unknown_microdollars',
    '',
    'Most that these purchases may have cost, in millionths of a dollar',
  );
  const failed = meter.createCounter(
    'searchflow_failed_units',
    '',
    'Bought units that ended in an error, by error tag',
  );
  const tagOf = knownTags();
  const open = new Map<string, { readonly operation: string; readonly estimateMicros: number }>();
  const closed = (id: string) => {
    const intent = open.get(id);
    open.delete(id);
    return intent;
  };
  return over(journal, {
    async intend(intent) {
      const id = await journal.intend(intent);
      open.set(id, intent);
      return id;
    },
    async land(id, answer) {
      await journal.land(id, answer);
      const intent = closed(id);
      const micros = answer.units.reduce((sum, unit) => sum + unit.costMicros, 0);
      if (!intent) return;
      const { operation } = intent;
      spent.add(micros, { operation });
      for (const { errorTag } of answer.units) if (errorTag) failed.add(1, { operation, tag: tagOf(errorTag) });
    },
    async miss(id, reason, charged, reply) {
      await journal.miss(id, reason, charged, reply);
      const intent = closed(id);
      if (!intent || charged === 'never') return;
      unknown.add(1, { operation: intent.operation });
      risked.add(Math.round(intent.estimateMicros), { operation: intent.operation });
    },
  });
}

/** Returns a function that replaces texts that are no tags, and tags beyond a number, by `other`: each label is a time series. */
function knownTags(): (tag: string) => string {
  const known = new Set<string>();
  return (tag) => {
    if (!known.has(tag) && known.size < MOST_TAGS && /^[A-Za-z0-9_]{1,60}$/.test(tag)) known.add(tag);
    return known.has(tag) ? tag : 'other';
  };
}

/** `target` with some methods replaced. The other methods run on the target itself, because they use its private fields. */
export function over<T extends object>(target: T, methods: Partial<T>): T {
  return new Proxy(target, {
    get(found, name) {
      if (name in methods) return methods[name as keyof T];
      const value: unknown = Reflect.get(found, name, found);
      return typeof value === 'function' ? value.bind(found) : value;
    },
  });
}

/** The ids of a running activity. `slice` or `window` is its part of the job. */
export interface ActivityIds {
  readonly job?: string;
  readonly workflowId?: string;
  readonly runId?: string;
  readonly slice?: number;
  readonly window?: number;
  readonly activity: string;
  readonly activityId: string;
  readonly attempt: number;
}

/** An answer with the id and the price that the service gave, each null if it gave none. */
export interface Answered {
  readonly requestId: string | null;
  readonly costMicros?: number | null;
}

/** Reports activities and requests. An observer calls each of them once and changes neither its result nor its failure. */
export interface Observer {
  activity?<T>(ids: ActivityIds, call: () => Promise<T>): Promise<T>;
  request?<T extends Answered>(endpoint: Endpoint<never, unknown>, call: () => Promise<T>): Promise<T>;
}

/** The transport with observers of its requests; the first observer is the outermost. */
export function observedTransport(transport: Transport, observers: readonly Observer[]): Transport {
  const observed = <T extends Answered>(endpoint: unknown, call: () => Promise<T>): Promise<T> =>
    observers.reduceRight(
      (inner, observer) => () => observer.request?.(endpoint as Endpoint<never, unknown>, inner) ?? inner(),
      call,
    )();
  return {
    ...transport,
    send: (endpoint, input, options) => observed(endpoint, () => transport.send(endpoint, input, options)),
    sendRawList: (endpoint, input, options) =>
      observed(endpoint, () => transport.sendRawList(endpoint, input, options)),
  };
}

/** The activities with observers; the first observer is the outermost. */
export function observedActivities(activities: AllActivities, observers: readonly Observer[]): AllActivities {
  const observed = (call: (...args: unknown[]) => Promise<unknown>) => {
    return (...args: unknown[]) => {
      const ids = idsOf(Context.current().info, args[0]);
      return observers.reduceRight(
        (inner, observer) => () => observer.activity?.(ids, inner) ?? inner(),
        () => call(...args),
      )();
    };
  };
  const all = Object.entries(activities) as [string, (...args: unknown[]) => Promise<unknown>][];
  return Object.fromEntries(all.map(([name, call]) => [name, observed(call)])) as unknown as AllActivities;
}

function idsOf({ workflowExecution, activityId, activityType, attempt }: Info, input: unknown): ActivityIds {
  const { slice, window } = (typeof input === 'object' && input !== null ? input : {}) as Record<string, unknown>;
  const { workflowId, runId } = workflowExecution ?? {};
  return {
    job: workflowId === undefined ? undefined : jobOfWorkflow(workflowId),
    ...{ workflowId, runId },
    slice: typeof slice === 'number' ? slice : undefined,
    window: typeof window === 'number' ? window : undefined,
    ...{ activity: activityType, activityId, attempt },
  };
}

const counts = ['complete', 'rows', 'requests', 'bought', 'failed', 'costMicros', 'pages', 'events', 'added'] as const;

/** Counts of an activity's result. Other fields may hold values of rows or answers. */
export function countsOf(result: unknown): Readonly<Partial<Record<(typeof counts)[number], number | boolean>>> {
  if (typeof result !== 'object' || result === null) return {};
  const fields = result as Readonly<Record<string, unknown>>;
  const found = counts.filter((name) => typeof fields[name] === 'number' || typeof fields[name] === 'boolean');
  return Object.fromEntries(found.map((name) => [name, fields[name]]));
}

/** The type of an activity's failure, never its message. `isExpected`: the activity waits, or it was cancelled. */
export function failureType(error: unknown): { readonly type: string; readonly isExpected: boolean } {
  if (!(error instanceof ApplicationFailure))
    return { type: error instanceof Error ? error.name : 'Error', isExpected: error instanceof CancelledFailure };
  return { type: error.type ?? error.name, isExpected: error.category === ApplicationFailureCategory.BENIGN };
}

/** The failure of a request; null if the request was refused before it was sent, so that there was none. */
export function failedRequest(error: unknown): ApiError | null {
  return error instanceof ApiError && error.facts.phase !== 'refused' ? error : null;
}

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
