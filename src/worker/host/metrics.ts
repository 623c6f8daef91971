import type { MetricMeter } from '@temporalio/common';
import type { Limiter } from '../../core/limiter/limiter.js';
import type { PurchaseJournal, WorkerStore } from '../store/store.js';
import { failedRequest, type Observer } from './observed.js';

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
  const seconds = meter.createHistogram(
    'searchflow_request_seconds',
    'float',
    's',
    'Time from sending a request to its complete answer',
  );
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

function meteredLimiter(meter: MetricMeter, limiter: Limiter): { readonly limiter: Limiter; close(): void } {
  const waited = meter.createHistogram(
    'searchflow_grant_wait_seconds',
    'float',
    's',
    'Time spent waiting for the rate limit',
  );
  const units = meter.createCounter('searchflow_rate_units', '', 'Units of the rate limit that this process used');
  const limit = meter.createGauge('searchflow_rate_limit', 'float', '1/s', 'Configured units per second');
  const effective = meter.createGauge(
    'searchflow_rate_limit_effective',
    'float',
    '1/s',
    'Units per second after margins',
  );
  const utilisation = meter.createGauge(
    'searchflow_rate_utilisation',
    'float',
    '',
    'Share of the limit used in the last second',
  );
  const blocked = meter.createGauge('searchflow_blocked_seconds', 'float', 's', 'Time until the current block ends');
  const gauge = async () => {
    const { buckets, blockedUntil } = await limiter.view();
    for (const bucket of buckets) {
      limit.set(bucket.qps, { bucket: bucket.name });
      effective.set(bucket.effectiveQps, { bucket: bucket.name });
      utilisation.set(bucket.used / bucket.qps, { bucket: bucket.name });
    }
    blocked.set(Math.max(0, ((blockedUntil ?? 0) - Date.now()) / 1000));
  };
  const timer = setInterval(() => void gauge().catch(() => undefined), GAUGES_MS);
  timer.unref();
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
    close: () => clearInterval(timer),
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
    async miss(id, reason, charged, came) {
      await journal.miss(id, reason, charged, came);
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
