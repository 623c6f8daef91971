import type { LimiterView } from '../../src/core/limiter/limiter.js';
import type { RateProfile } from '../../src/core/limiter/rate.js';

/** The view of an unused limiter. */
export function idleView(profile: RateProfile): LimiterView {
  const buckets = profile.buckets.map(({ name, qps }) => ({ name, qps, effectiveQps: qps, used: 0 }));
  const qps = buckets[0]?.qps ?? 0;
  return {
    profile: profile.name,
    qps,
    effectiveQps: qps,
    buckets,
    blockedUntil: null,
    blockedSince: null,
    blockReason: null,
    waiting: 0,
  };
}
