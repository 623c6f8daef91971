import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, it } from 'vitest';
import { book, earliest, fullRing, late, type Ring } from '../../src/core/ring.js';

const rule = { limit: 4, margin: 0.01 };

function ringOf(times: number[], last = Number.NEGATIVE_INFINITY): Ring {
  return { times: Float64Array.from(times), head: 0, last };
}

describe('the ring of unit times', () => {
  it.each([
    {
      case: 'a full ring waits out the window and its margin',
      ring: ringOf([0, 0, 0, 0]),
      now: 0,
      weight: 1,
      start: 1010,
    },
    { case: 'an old ring starts at once', ring: ringOf([0, 1, 2, 3]), now: 5000, weight: 1, start: 5000 },
    { case: 'one freed unit starts one call', ring: ringOf([0, 500, 600, 700]), now: 1200, weight: 1, start: 1200 },
    {
      case: 'a call of two waits for the second freed unit',
      ring: ringOf([0, 500, 600, 700]),
      now: 1200,
      weight: 2,
      start: 1510,
    },
    {
      case: 'a call heavier than the limit takes all of it',
      ring: ringOf([0, 1, 2, 3]),
      now: 0,
      weight: 9,
      start: 1013,
    },
    {
      case: 'two starts keep a gap of 0.6 of the average',
      ring: ringOf([0, 0, 0, 0], 5000),
      now: 5010,
      weight: 1,
      start: 5150,
    },
    { case: 'a call of no weight skips the meter', ring: ringOf([0, 0, 0, 0], 0), now: 7, weight: 0, start: 7 },
  ])('$case', ({ ring, now, weight, start }) => {
    expect(earliest(ring, rule, now, weight)).toBeCloseTo(start, 6);
  });

  it('moves a late unit behind those that started before it', () => {
    const ring = ringOf([100, 200, 300, 400], 400);
    late(ring, 200, 350, 1);
    expect([...ring.times]).toEqual([100, 300, 350, 400]);
    late(ring, 100, 900, 1);
    expect([...ring.times]).toEqual([300, 350, 400, 900]);
    expect(ring.last).toBe(900);
  });

  property.prop([
    fc.integer({ min: 1, max: 30 }),
    fc.array(
      fc.record({
        weight: fc.integer({ min: 0, max: 4 }),
        idle: fc.integer({ min: 0, max: 400 }),
        lateBy: fc.integer({ min: 0, max: 300 }),
      }),
      {
        maxLength: 200,
      },
    ),
  ])('never holds more than the limit in any sliding second, whatever the weights and delays', (limit, calls) => {
    const ring = fullRing(limit, 0);
    const starts: { at: number; weight: number }[] = [];
    let now = 0;
    for (const { weight, idle, lateBy } of calls) {
      now += idle;
      const planned = earliest(ring, { limit, margin: 0.01 }, now, weight);
      book(ring, planned, weight);
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
});
