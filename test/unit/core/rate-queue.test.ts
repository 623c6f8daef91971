import { describe, expect, it } from 'vitest';
import {
  ask,
  type BucketState,
  bucketView,
  newBucket,
  noteRefused,
  refusedCalls,
} from '../../../src/core/limiter/rate-queue.js';
import { askCases } from '../../support/core/rate-queue-cases.js';

describe('a request for starts', () => {
  it.each(Object.entries(askCases))('%s', (_, steps) => {
    const buckets = new Map<string, BucketState>();
    for (const [index, { now, who, on = { all: 4 }, starts, comeAt, ...step }] of steps.entries()) {
      const asked = Object.entries(on).map(([name, limit]) => {
        const bucket = buckets.get(name) ?? newBucket(limit, now);
        buckets.set(name, bucket);
        return { bucket, limit };
      });
      const { weight = 1, count = 1, margin = 0.01, queued = 0, blockedUntil = Number.NEGATIVE_INFINITY } = step;
      for (let call = 0; call < (step.refused ?? 0); call++) for (const one of asked) noteRefused(one, now);
      const answered = ask(asked, now, blockedUntil, { who, weight, count, margin, queued });
      const rounded = { starts: answered.starts.map(Math.round), comeAt: Math.round(answered.comeAt) };
      expect(rounded, `step ${index} of ${who} at ${now}`).toEqual({ starts, comeAt });
    }
  });

  it('leaves the queue once it got all its starts', () => {
    const bucket = newBucket(4, 0);
    const asked = { who: 'a', weight: 1, count: 1, margin: 0.01, queued: 0 };
    ask([{ bucket, limit: 4 }], 0, 0, asked);
    expect(bucket.turns).toMatchObject([{ who: 'a', weight: 1, waiting: 1 }]);
    expect(ask([{ bucket, limit: 4 }], 760, 0, asked).starts).toHaveLength(1);
    expect(bucket.turns).toEqual([]);
  });
});

describe('a refused call', () => {
  const limit = 4;
  /** The margin that a bucket has after a refusal at `now`. `ring`: the start times of its last units. */
  const marginAfter = (ring: readonly number[], now = 2000) => {
    const bucket = { ...newBucket(limit, 0), ring: [...ring] };
    noteRefused({ bucket, limit }, now);
    return limit / bucketView({ name: 'all', qps: limit, classes: ['*'] }, bucket, now).effectiveQps - 1;
  };

  it('widens the window if the last units of the limit lie within one', () => {
    expect(marginAfter([1000, 1250, 1500, 1999])).toBeCloseTo(refusedCalls.step);
    expect(marginAfter([1000, 1250, 1500, 2000])).toBeCloseTo(refusedCalls.step);
    // If the ring has more entries than the limit, older entries do not count.
    expect(marginAfter([0, 1000, 1250, 1500, 1999])).toBeCloseTo(refusedCalls.step);
  });

  it('changes nothing if they are further apart, or fewer', () => {
    expect(marginAfter([1000, 1250, 1500, 2001])).toBe(0);
    expect(marginAfter([1000, 1250, 1500])).toBe(0);
    expect(marginAfter([])).toBe(0);
  });

  it('counts the window with its margin', () => {
    const bucket = { ...newBucket(limit, 0), ring: [1000, 1250, 1500, 2005] };
    const margin = () => limit / bucketView({ name: 'all', qps: limit, classes: ['*'] }, bucket, 2010).effectiveQps - 1;
    noteRefused({ bucket, limit }, 2010);
    expect(margin()).toBe(0);
    bucket.margin = 0.01;
    noteRefused({ bucket, limit }, 2010);
    expect(margin()).toBeCloseTo(0.01 + refusedCalls.step);
  });
});
