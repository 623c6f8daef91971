import { describe, expect, it } from 'vitest';
import { ask, bucketView, newBucket, noteRefused } from '../../../src/core/limiter/rate-queue.js';

const LIMIT = 10;
const SECOND_MS = 1000;

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Campaign {
  readonly processes: number;
  readonly calls: number;
  /** `lateCalls`: share of the calls that reach the service late. `lateMs`: the longest delay, in ms. */
  readonly lateCalls: number;
  readonly lateMs: number;
}

/** Simulates calls of some processes on one bucket. The service is strict and answers a refusal with `Retry-After: 1`. */
function campaign(seed: number, { processes, calls, lateCalls, lateMs }: Campaign) {
  const random = seeded(seed);
  const bucket = newBucket(LIMIT, 0);
  const comeAt = new Array<number>(processes).fill(0);
  let admitted: number[] = [];
  let blockedUntil = Number.NEGATIVE_INFINITY;
  let [sent, refusals, first, last] = [0, 0, Number.POSITIVE_INFINITY, 0];
  const guards: number[] = [];
  while (sent < calls) {
    const now = Math.min(...comeAt);
    const who = comeAt.indexOf(now);
    const asked = { who: String(who), weight: 1, count: 50, margin: 0.01, queued: 0 };
    const { starts, comeAt: next } = ask([{ bucket, limit: LIMIT }], now, blockedUntil, asked);
    comeAt[who] = Math.max(next, now + 1);
    for (const start of starts) {
      if (start < blockedUntil) continue;
      const arrival = start + 1.5 * random() + (random() < lateCalls ? lateMs * random() : 0);
      [first, last] = [Math.min(first, start), Math.max(last, start)];
      sent++;
      if (admitted.filter((at) => at > arrival - SECOND_MS).length < LIMIT) {
        admitted = [...admitted, arrival];
        continue;
      }
      refusals++;
      noteRefused({ bucket, limit: LIMIT }, arrival);
      guards.push(bucket.guard);
      blockedUntil = arrival + SECOND_MS;
    }
  }
  const used = admitted.length / ((LIMIT * (last - first)) / SECOND_MS);
  return { bucket, used, refusals, guards, last };
}

const seeds = Array.from({ length: 15 }, (_, index) => index + 1);

/** The effect of a refusal on the guard of a bucket. */
const refusedCases: readonly [
  name: string,
  ring: readonly number[],
  limit: number,
  now: number,
  after: number,
  margin?: number,
  guard?: number,
  guardAt?: number,
][] = [
  ['a refusal after the whole limit was used within a window adds a step', [0, 300, 600, 900], 4, 1012, 0.0075],
  ['a window counts with its margin', [0, 300, 600, 1010], 4, 1020, 0.0075],
  ['a refusal of calls that were further apart changes nothing', [0, 300, 600, 1011], 4, 1020, 0],
  ['only the last units count in a ring longer than the limit', [0, 300, 600, 900, 950], 3, 1000, 0.0075],
  ['a ring shorter than the limit changes nothing', [900, 950], 3, 1000, 0],
  ['a step is added to what is left of earlier steps', [0, 300, 600, 900], 4, 0, 0.015, undefined, 0.015, -450_000],
  ['the guard has a maximum', [0, 300, 600, 900], 4, 1000, 0.03, undefined, 0.028, 1000],
];

describe('the margin after refusals', () => {
  it.each(refusedCases)('%s', (_, ring, limit, now, after, margin = 0.01, guard = 0, guardAt = 0) => {
    const bucket = { ...newBucket(limit, 0), ring: [...ring], margin, guard, guardAt };
    noteRefused({ bucket, limit }, now);
    expect(bucket.guard).toBeCloseTo(after, 10);
  });

  it.each([1, 2, 4])('uses 97% of the limit with at most 3 of 1,000 refused, with %i processes', (processes) => {
    const runs = seeds.map((seed) => campaign(seed, { processes, calls: 1000, lateCalls: 0.03, lateMs: 16 }));
    const used = runs.map((run) => run.used).sort((a, b) => a - b);
    expect(used[Math.floor(used.length / 2)]).toBeGreaterThanOrEqual(0.97);
    expect(Math.max(...runs.map(({ refusals }) => refusals))).toBeLessThanOrEqual(3);
  });

  it('rises at each refusal, and falls again without one', () => {
    const { bucket, guards, last } = campaign(3, { processes: 1, calls: 1000, lateCalls: 0.3, lateMs: 20 });
    expect(guards.length).toBeGreaterThan(1);
    expect(guards).toEqual([...guards].sort((a, b) => a - b));
    const rate = { name: 'all', qps: LIMIT, classes: ['*'] };
    const at = (minutes: number) => bucketView(rate, bucket, last + minutes * 60_000).effectiveQps;
    expect(at(5)).toBeGreaterThan(at(0));
    expect(at(60)).toBeCloseTo(LIMIT / 1.01, 6);
  });

  it('never exceeds three hundredths, however many calls are refused', () => {
    const { bucket } = campaign(1, { processes: 2, calls: 500, lateCalls: 0.5, lateMs: 200 });
    expect(bucket.guard).toBeLessThanOrEqual(0.03);
  });
});
