import type { LimiterView } from '../../src/core/limiter/limiter.js';
import type { RateProfile } from '../../src/core/limiter/rate.js';

/** The view of an unused limiter. */
export function idleView({ name: profile, buckets }: RateProfile): LimiterView {
  const views = buckets.map(({ name, qps }) => ({ name, qps, effectiveQps: qps, used: 0 }));
  const { qps = 0 } = views[0] ?? {};
  const block = { blockedUntil: null, blockedSince: null, blockReason: null };
  return { profile, qps, effectiveQps: qps, buckets: views, waiting: 0, ...block };
}
