import { describe, expect, it } from 'vitest';
import { ask, type BucketState, newBucket, refused } from '../../../src/core/turns.js';
import { askCases } from '../../support/core/turns-cases.js';

describe('asking for starts', () => {
  it.each(askCases)('$name', ({ steps }) => {
    const buckets = new Map<string, BucketState>();
    for (const [index, { now, who, on = { all: 4 }, starts, comeAt, ...step }] of steps.entries()) {
      const drawn = Object.entries(on).map(([name, limit]) => {
        const bucket = buckets.get(name) ?? newBucket(limit, now);
        buckets.set(name, bucket);
        return { bucket, limit };
      });
      const { weight = 1, count = 1, margin = 0.01, queued = 0, blockedUntil = Number.NEGATIVE_INFINITY } = step;
      for (let call = 0; call < (step.refused ?? 0); call++) for (const one of drawn) refused(one, now);
      const answered = ask(drawn, now, blockedUntil, { who, weight, count, margin, queued });
      const rounded = { starts: answered.starts.map(Math.round), comeAt: Math.round(answered.comeAt) };
      expect(rounded, `step ${index} of ${who} at ${now}`).toEqual({ starts, comeAt });
    }
  });

  it('keeps nobody in a queue who got all it asked for', () => {
    const bucket = newBucket(4, 0);
    const asked = { who: 'a', weight: 1, count: 1, margin: 0.01, queued: 0 };
    ask([{ bucket, limit: 4 }], 0, 0, asked);
    expect(bucket.turns).toMatchObject([{ who: 'a', weight: 1, waiting: 1 }]);
    expect(ask([{ bucket, limit: 4 }], 760, 0, asked).starts).toHaveLength(1);
    expect(bucket.turns).toEqual([]);
  });
});
