import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, it } from 'vitest';
import { earliest, fullRing, late, type Ring, recordStart, resize } from '../../../src/core/limiter/rate-queue.js';

// Times are in ms.
const earliestCases: readonly [
  name: string,
  ring: Ring,
  now: number,
  weight: number,
  start: number,
  limit?: number,
  calls?: number,
  units?: number,
][] = [
  ['a full ring waits out the window and its margin', [0, 0, 0, 0], 0, 1, 1010],
  ['an old ring starts at once', [0, 1, 2, 3], 5000, 1, 5000],
  ['one freed unit starts one call', [0, 500, 600, 700], 1200, 1, 1200],
  ['a call of two waits for the second freed unit', [0, 500, 600, 700], 1200, 2, 1510],
  ['a call heavier than the limit takes all of it', [0, 1, 2, 3], 0, 9, 1013],
  ['two starts keep a gap of 0.6 of the average', [0, 0, 0, 5000], 5010, 1, 5150],
  ['a call without weight starts at once', [0, 0, 0, 7], 7, 0, 7],
  ['only the last units count in a ring longer than the limit', [0, 100, 900, 950], 1000, 1, 1910, 2],
  ['after another call the next unit counts, and one more gap', [0, 500, 600, 700], 1200, 1, 1510, undefined, 1, 1],
  ['after more units than the limit it starts a window later', [0, 500, 600, 700], 1200, 1, 2020, undefined, 2, 4],
];

const reserveCases: readonly [name: string, ring: Ring, limit: number, start: number, weight: number, after: Ring][] = [
  ['a unit replaces the oldest one', [1, 2, 3], 3, 9, 1, [2, 3, 9]],
  ['a call of two replaces two', [1, 2, 3], 3, 9, 2, [3, 9, 9]],
  ['a call heavier than the limit replaces all', [1, 2, 3], 2, 9, 7, [3, 9, 9]],
  ['a call without weight replaces none', [1, 2, 3], 3, 9, 0, [1, 2, 3]],
];

const lateCases: readonly [name: string, ring: Ring, planned: number, actual: number, weight: number, after: Ring][] = [
  ['a late unit moves after those that started before it', [100, 200, 300, 400], 200, 350, 1, [100, 300, 350, 400]],
  ['a late unit may become the newest', [100, 300, 350, 400], 100, 900, 1, [300, 350, 400, 900]],
  ['both units of a heavy call move', [100, 200, 200, 400], 200, 450, 2, [100, 400, 450, 450]],
  ['one late unit of two that start together moves alone', [100, 200, 200, 400], 200, 450, 1, [100, 200, 400, 450]],
  ['a unit that has left the ring already changes nothing', [100, 200], 50, 300, 1, [100, 200]],
];

const resizeCases: readonly [name: string, ring: Ring, limit: number, now: number, after: Ring][] = [
  ['a larger limit counts the time before as fully used', [100, 900], 4, 1000, [100, 100, 100, 900]],
  [
    'a smaller limit keeps the units that count for the larger one',
    [100, 200, 900, 950],
    2,
    1000,
    [100, 200, 900, 950],
  ],
  ['units that no limit needs any longer are removed', [100, 200, 900, 950], 2, 9000, [900, 950]],
  [
    'a clock that went back delays no call for longer than a window',
    [500, 3_600_000, 3_600_100],
    3,
    1000,
    [500, 1000, 1000],
  ],
  ['a clock that went back is detected by the newest unit', [500, 900, 3_600_000], 3, 1000, [500, 900, 1000]],
  ['a unit that starts within a second is early, and no sign of a clock change', [500, 2000], 2, 1000, [500, 2000]],
  [
    'units that a larger limit may still need stay for two windows',
    [100, 200, 900, 950],
    2,
    2200,
    [100, 200, 900, 950],
  ],
  ['a missing ring counts as a full one', [], 3, 7, [7, 7, 7]],
];

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
