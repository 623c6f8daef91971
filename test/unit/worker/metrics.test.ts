import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Transport } from '../../../src/api/transport.js';
import type { LimiterView } from '../../../src/core/limiter/limiter.js';
import type { CallFacts } from '../../../src/core/purchase/failure.js';
import { metered, observedTransport, requestMetrics } from '../../../src/worker/host/metrics.js';
import type { WorkerStore } from '../../../src/worker/store/store.js';
import { failure } from '../../support/activities/purchase-setting.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance', 'setInterval', 'clearInterval'] });
});
afterEach(() => void vi.useRealTimers());

/** Records what the metrics of a worker count, in order: name, value and labels. */
function recording() {
  const recorded: [string, number, object][] = [];
  const record = (name: string) => (value: number, labels: object) => void recorded.push([name, value, labels]);
  const meter = {
    createCounter: (name: string) => ({ add: record(name) }),
    createHistogram: (name: string) => ({ record: record(name) }),
    createGauge: (name: string) => ({ set: (value: number, labels = {}) => record(name)(value, labels) }),
  } as never;
  return { meter, take: () => recorded.splice(0) };
}

/** Adds the metrics to these parts of a worker. */
function open(parts: { readonly transport?: object; readonly limiter?: object; readonly journal?: object }) {
  const { meter, take } = recording();
  const working = { limiter: parts.limiter ?? {}, journal: parts.journal ?? {} } as WorkerStore;
  const transport = observedTransport((parts.transport ?? {}) as Transport, [requestMetrics(meter)]);
  return { ...metered(meter, working), transport, take };
}

const endpoint = { name: 'search' } as never;
const facts = (changes: Partial<CallFacts>): CallFacts => ({
  ...{ phase: 'answer', status: 200, tag: null, retryAfterMs: null },
  ...changes,
});

it('each request that was sent counts once with its outcome and its seconds, and a refused one does not count', async () => {
  let end: () => unknown = () => 'answer';
  const send = async () => {
    vi.advanceTimersByTime(1500);
    return end();
  };
  const { transport, take, close } = open({ transport: { send, sendRawList: send } });
  expect(await transport.send(endpoint, {}, {} as never)).toBe('answer');
  const labels = { operation: 'search' };
  expect(take()).toEqual([
    ['searchflow_requests', 1, { ...labels, outcome: 'ok' }],
    ['searchflow_request_seconds', 1.5, labels],
  ]);
  end = () => {
    throw failure(facts({ status: 429 }));
  };
  await expect(transport.sendRawList(endpoint, {}, {} as never)).rejects.toThrow('429');
  expect(take()).toEqual([
    ['searchflow_requests', 1, { ...labels, outcome: 'RateLimited' }],
    ['searchflow_request_seconds', 1.5, labels],
    ['searchflow_rate_limited', 1, labels],
  ]);
  for (const error of [failure(facts({ phase: 'refused', status: null })), new Error('closed')]) {
    end = () => {
      throw error;
    };
    await expect(transport.send(endpoint, {}, {} as never)).rejects.toBe(error);
  }
  expect(take()).toEqual([]);
  close();
});

it('a turn counts its wait in seconds, and its units only once it starts', async () => {
  const rateCost = { rateClass: 'agent', weight: 2 };
  let go = 'blocked';
  const { working, take, close } = open({
    limiter: {
      acquire: async () => {
        vi.advanceTimersByTime(2500);
        return { rateCost, startAt: 0, reservedAt: 0 };
      },
      start: async () => go,
    },
  });
  const grant = await working.limiter.acquire(rateCost);
  expect(take()).toEqual([['searchflow_grant_wait_seconds', 2.5, { rate_class: 'agent' }]]);
  expect(await working.limiter.start(grant)).toBe('blocked');
  expect(take()).toEqual([]);
  go = 'go';
  expect(await working.limiter.start(grant)).toBe('go');
  expect(take()).toEqual([['searchflow_rate_units', 2, { rate_class: 'agent' }]]);
  close();
});

it('a landed purchase counts at its cost, and an unknown outcome at its estimate, each once', async () => {
  let ids = 0;
  const { working, take, close } = open({
    journal: { intend: async () => `id-${++ids}`, land: async () => undefined, miss: async () => undefined },
  });
  const { journal } = working;
  const intent = { operation: 'contents', estimateMicros: 700.4 } as never;
  const labels = { operation: 'contents' };
  const unit = (costMicros: number) => ({ costMicros }) as never;
  const landed = await journal.intend(intent);
  await journal.land(landed, { requestId: null, fetchedAt: 1, units: [unit(100), unit(250)] });
  expect(take()).toEqual([['searchflow_spent_microdollars', 350, labels]]);
  await journal.miss(landed, 'late', 'maybe');
  const free = await journal.intend(intent);
  await journal.miss(free, 'refused', 'never');
  expect(take()).toEqual([]);
  const lost = await journal.intend(intent);
  await journal.miss(lost, 'cut off', 'maybe');
  expect(take()).toEqual([
    ['searchflow_unknown_outcomes', 1, labels],
    ['searchflow_unknown_microdollars', 700, labels],
  ]);
  close();
});

it('a bought unit that failed counts with its error tag; odd and too many tags count as other', async () => {
  const { working, take, close } = open({ journal: { intend: async () => 'id', land: async () => undefined } });
  const land = async (tags: readonly (string | null)[]) => {
    const id = await working.journal.intend({ operation: 'contents', estimateMicros: 1 } as never);
    const units = tags.map((errorTag) => ({ costMicros: 0, errorTag }) as never);
    await working.journal.land(id, { requestId: null, fetchedAt: 1, units });
    return take().flatMap(([name, , labels]) => (name === 'searchflow_failed_units' ? [labels] : []));
  };
  const labels = (tag: string) => ({ operation: 'contents', tag });
  expect(await land([null, 'CRAWL_NOT_FOUND', 'CRAWL_NOT_FOUND', 'https://a.example/?key=1'])).toEqual(
    ['CRAWL_NOT_FOUND', 'CRAWL_NOT_FOUND', 'other'].map(labels),
  );
  const many = Array.from({ length: 49 }, (_, index) => `TAG_${index}`);
  expect(await land([...many, 'ONE_MORE', 'TAG_0'])).toEqual([...many, 'other', 'TAG_0'].map(labels));
  close();
});

it('the gauges show each bucket and the rest of a block in seconds, until the worker closes', async () => {
  const bucket = { name: 'all', qps: 10, effectiveQps: 8, used: 4 };
  const view = { buckets: [bucket], blockedUntil: Date.now() + 35_000 } as unknown as LimiterView;
  let views: LimiterView = view;
  const { take, close } = open({ limiter: { view: async () => views } });
  await vi.advanceTimersByTimeAsync(5000);
  const labels = { bucket: 'all' };
  expect(take()).toEqual([
    ['searchflow_rate_limit', 10, labels],
    ['searchflow_rate_limit_effective', 8, labels],
    ['searchflow_rate_utilisation', 0.4, labels],
    ['searchflow_blocked_seconds', 30, {}],
  ]);
  views = { ...view, buckets: [], blockedUntil: Date.now() - 5000 };
  await vi.advanceTimersByTimeAsync(5000);
  expect(take()).toEqual([['searchflow_blocked_seconds', 0, {}]]);
  close();
  await vi.advanceTimersByTimeAsync(20_000);
  expect(take()).toEqual([]);
});
