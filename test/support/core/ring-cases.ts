import type { Ring } from '../../../src/core/limiter/rate-queue.js';

/** Cases for the functions of the ring. Both implementations must pass them: `core/ring` and PostgreSQL. Times are in ms. */
export const earliestCases: readonly {
  readonly name: string;
  readonly ring: Ring;
  readonly now: number;
  readonly weight: number;
  readonly limit?: number;
  readonly calls?: number;
  readonly units?: number;
  readonly start: number;
}[] = [
  { name: 'a full ring waits out the window and its margin', ring: [0, 0, 0, 0], now: 0, weight: 1, start: 1010 },
  { name: 'an old ring starts at once', ring: [0, 1, 2, 3], now: 5000, weight: 1, start: 5000 },
  { name: 'one freed unit starts one call', ring: [0, 500, 600, 700], now: 1200, weight: 1, start: 1200 },
  {
    name: 'a call of two waits for the second freed unit',
    ring: [0, 500, 600, 700],
    now: 1200,
    weight: 2,
    start: 1510,
  },
  { name: 'a call heavier than the limit takes all of it', ring: [0, 1, 2, 3], now: 0, weight: 9, start: 1013 },
  { name: 'two starts keep a gap of 0.6 of the average', ring: [0, 0, 0, 5000], now: 5010, weight: 1, start: 5150 },
  { name: 'a call without weight starts at once', ring: [0, 0, 0, 7], now: 7, weight: 0, start: 7 },
  {
    name: 'only the last units count in a ring longer than the limit',
    ring: [0, 100, 900, 950],
    now: 1000,
    weight: 1,
    limit: 2,
    start: 1910,
  },
  {
    name: 'after another call the next unit counts, and one more gap',
    ring: [0, 500, 600, 700],
    now: 1200,
    weight: 1,
    calls: 1,
    units: 1,
    start: 1510,
  },
  {
    name: 'after more units than the limit it starts a window later',
    ring: [0, 500, 600, 700],
    now: 1200,
    weight: 1,
    calls: 2,
    units: 4,
    start: 2020,
  },
];

export const reserveCases: readonly {
  name: string;
  ring: Ring;
  limit: number;
  start: number;
  weight: number;
  after: Ring;
}[] = [
  { name: 'a unit replaces the oldest one', ring: [1, 2, 3], limit: 3, start: 9, weight: 1, after: [2, 3, 9] },
  { name: 'a call of two replaces two', ring: [1, 2, 3], limit: 3, start: 9, weight: 2, after: [3, 9, 9] },
  {
    name: 'a call heavier than the limit replaces all',
    ring: [1, 2, 3],
    limit: 2,
    start: 9,
    weight: 7,
    after: [3, 9, 9],
  },
  { name: 'a call without weight replaces none', ring: [1, 2, 3], limit: 3, start: 9, weight: 0, after: [1, 2, 3] },
];

export const lateCases: readonly {
  name: string;
  ring: Ring;
  planned: number;
  actual: number;
  weight: number;
  after: Ring;
}[] = [
  {
    name: 'a late unit moves after those that started before it',
    ring: [100, 200, 300, 400],
    planned: 200,
    actual: 350,
    weight: 1,
    after: [100, 300, 350, 400],
  },
  {
    name: 'a late unit may become the newest',
    ring: [100, 300, 350, 400],
    planned: 100,
    actual: 900,
    weight: 1,
    after: [300, 350, 400, 900],
  },
  {
    name: 'both units of a heavy call move',
    ring: [100, 200, 200, 400],
    planned: 200,
    actual: 450,
    weight: 2,
    after: [100, 400, 450, 450],
  },
  {
    name: 'one late unit of two that start together moves alone',
    ring: [100, 200, 200, 400],
    planned: 200,
    actual: 450,
    weight: 1,
    after: [100, 200, 400, 450],
  },
  {
    name: 'a unit that has left the ring already changes nothing',
    ring: [100, 200],
    planned: 50,
    actual: 300,
    weight: 1,
    after: [100, 200],
  },
];

export const resizeCases: readonly { name: string; ring: Ring; limit: number; now: number; after: Ring }[] = [
  {
    name: 'a larger limit counts the time before as fully used',
    ring: [100, 900],
    limit: 4,
    now: 1000,
    after: [100, 100, 100, 900],
  },
  {
    name: 'a smaller limit keeps the units that count for the larger one',
    ring: [100, 200, 900, 950],
    limit: 2,
    now: 1000,
    after: [100, 200, 900, 950],
  },
  {
    name: 'units that no limit needs any longer are removed',
    ring: [100, 200, 900, 950],
    limit: 2,
    now: 9000,
    after: [900, 950],
  },
  {
    name: 'a clock that went back delays no call for longer than a window',
    ring: [500, 3_600_000, 3_600_100],
    limit: 3,
    now: 1000,
    after: [500, 1000, 1000],
  },
  {
    name: 'a clock that went back is detected by the newest unit',
    ring: [500, 900, 3_600_000],
    limit: 3,
    now: 1000,
    after: [500, 900, 1000],
  },
  {
    name: 'a unit that starts within a second is early, and no sign of a clock change',
    ring: [500, 2000],
    limit: 2,
    now: 1000,
    after: [500, 2000],
  },
  {
    name: 'units that a larger limit may still need stay for two windows',
    ring: [100, 200, 900, 950],
    limit: 2,
    now: 2200,
    after: [100, 200, 900, 950],
  },
  { name: 'a missing ring counts as a full one', ring: [], limit: 3, now: 7, after: [7, 7, 7] },
];
