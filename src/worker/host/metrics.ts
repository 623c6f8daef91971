import type { MetricMeter } from '@temporalio/common';
import type { Transport } from '../../api/transport.js';
import { ApiError } from '../../api/wire/errors.js';
import type { Limiter } from '../../core/limiter/limiter.js';
import type { PurchaseJournal, WorkerStore } from '../store/store.js';

/** Upper bounds of the histograms' buckets, in seconds. */
export const histogramBuckets: Readonly<Record<string, number[]>> = {
  searchflow_grant_wait_seconds: [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 3600],
  searchflow_request_seconds: [0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 120],
};

/** How often the gauges are set: a look at a shared limit is a statement. */
const GAUGES_MS = 5000;

/** The same ports, counted. */
export interface Metered {
  readonly transport: Transport;
  readonly working: WorkerStore;
  close(): void;
}

/**
 * Counts what goes through the ports of a worker, for whatever exporter the SDK's runtime has; without one it costs next to
 * nothing. Labels are names of operations, outcomes and rate classes, never a key, URL or job. Documented in docs/operating.md.
 */
export function metered(meter: MetricMeter, transport: Transport, working: WorkerStore): Metered {
  const limit = meteredLimiter(meter, working.limiter);
  return {
    transport: meteredTransport(meter, transport),
    working: { ...working, limiter: limit.limiter, journal: meteredJournal(meter, working.journal) },
    close: limit.close,
  };
}

function meteredTransport(meter: MetricMeter, transport: Transport): Transport {
  const requests = meter.createCounter('searchflow_requests', '', 'Requests sent to the service, by how they ended');
  const refused = meter.createCounter('searchflow_rate_limited', '', 'Answers 429');
  const seconds = meter.createHistogram('searchflow_request_seconds', 'float', 's', 'From sending to the whole answer');
  const counted = async <T>(operation: string, call: () => Promise<T>): Promise<T> => {
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
      // What was refused before sending is no request.
      if (!(error instanceof ApiError) || error.facts.phase === 'refused') throw error;
      ended(error.verdict.type);
      if (error.facts.status === 429) refused.add(1, { operation });
      throw error;
    }
  };
  return {
    ...transport,
    send: (endpoint, input, options) => counted(endpoint.name, () => transport.send(endpoint, input, options)),
    sendRawList: (endpoint, input, options) =>
      counted(endpoint.name, () => transport.sendRawList(endpoint, input, options)),
  };
}

function meteredLimiter(meter: MetricMeter, limiter: Limiter): { readonly limiter: Limiter; close(): void } {
  const waited = meter.createHistogram(
    'searchflow_grant_wait_seconds',
    'float',
    's',
    'Waiting for a place on the limit',
  );
  const units = meter.createCounter('searchflow_rate_units', '', 'Units of the rate limit that this process used');
  const limit = meter.createGauge('searchflow_rate_limit', 'float', '1/s', 'Units a second, as configured');
  const effective = meter.createGauge('searchflow_rate_limit_effective', 'float', '1/s', 'The same after margins');
  const utilisation = meter.createGauge(
    'searchflow_rate_utilisation',
    'float',
    '',
    'Share of it used in the last second',
  );
  const blocked = meter.createGauge('searchflow_blocked_seconds', 'float', 's', 'Until the current block ends');
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
  const risked = meter.createCounter('searchflow_unknown_microdollars', '', 'What these may have cost at most');
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
      if (intent) spent.add(micros, { operation: intent.operation });
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

/** `target` with some of its methods replaced; the others run on the target itself, whose private parts they need. */
function over<T extends object>(target: T, methods: Partial<T>): T {
  return new Proxy(target, {
    get(found, name) {
      if (name in methods) return methods[name as keyof T];
      const value: unknown = Reflect.get(found, name, found);
      return typeof value === 'function' ? value.bind(found) : value;
    },
  });
}
