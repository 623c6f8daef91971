import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, it } from 'vitest';
import { earliest, fullRing, late, recordStart, resize } from '../../../src/core/limiter/rate-queue.js';
import { earliestCases, lateCases, reserveCases, resizeCases } from '../../support/core/ring-cases.js';

describe('the ring of unit times', () => {
  it.each(earliestCases)('earliest: %s', (_, ring, now, weight, start, limit = 4, calls = 0, units = 0) => {
    expect(earliest(ring, { limit, margin: 0.01 }, now, weight, { calls, units })).toBeCloseTo(start, 6);
  });

  it.each(reserveCases)('reserve: %s', (_, ring, limit, start, weight, after) => {
    const reserved = [...ring];
    recordStart(reserved, limit, start, weight);
    expect(reserved).toEqual(after);
  });

  it.each(lateCases)('late: %s', (_, ring, planned, actual, weight, after) => {
    const moved = [...ring];
    late(moved, planned, actual, weight);
    expect(moved).toEqual(after);
  });

  it.each(resizeCases)('resize: %s', (_, ring, limit, now, after) => {
    const resized = [...ring];
    resize(resized, limit, now);
    expect(resized).toEqual(after);
  });

  property.prop([
    fc.integer({ min: 1, max: 30 }),
    fc.array(
      fc.record({
        weight: fc.integer({ min: 0, max: 4 }),
        idle: fc.integer({ min: 0, max: 400 }),
        lateBy: fc.integer({ min: 0, max: 300 }),
      }),
      { maxLength: 200 },
    ),
  ])('never holds more than the limit in any sliding second, for any weights and delays', (limit, calls) => {
    const ring = fullRing(limit, 0);
    const starts: { at: number; weight: number }[] = [];
    let now = 0;
    for (const { weight, idle, lateBy } of calls) {
      now += idle;
      const planned = earliest(ring, { limit, margin: 0.01 }, now, weight);
      recordStart(ring, limit, planned, weight);
      now = planned;
      if (lateBy > 8 && weight > 0) {
        late(ring, planned, planned + lateBy, weight);
        now = planned + lateBy;
      }
      starts.push({ at: lateBy > 8 ? planned + lateBy : planned, weight: Math.min(weight, limit) });
    }
    for (const first of starts) {
      const within = starts.filter((other) => other.at >= first.at && other.at < first.at + 1000);
      expect(within.reduce((sum, other) => sum + other.weight, 0)).toBeLessThanOrEqual(limit);
    }
  });

  property.prop([
    fc.array(fc.record({ limit: fc.integer({ min: 1, max: 40 }), calls: fc.integer({ min: 1, max: 60 }) })),
  ])('changes its limit without ever passing the largest that was in force', (spells) => {
    const ring = fullRing(spells[0]?.limit ?? 1, 0);
    const starts: { at: number; limit: number }[] = [];
    let now = 0;
    for (const { limit, calls } of spells) {
      resize(ring, limit, now);
      for (let call = 0; call < calls; call++) {
        now = earliest(ring, { limit, margin: 0.01 }, now, 1);
        recordStart(ring, limit, now, 1);
        starts.push({ at: now, limit });
      }
    }
    for (const { at } of starts) {
      const within = starts.filter((other) => other.at >= at && other.at < at + 1000);
      expect(within.length).toBeLessThanOrEqual(Math.max(...within.map(({ limit }) => limit)));
    }
  });
});
