import { describe, expect, it } from 'vitest';
import { backoffMs, blockMs } from '../../../src/core/purchase/backoff.js';

/** The random number in the middle of the jitter. */
const MIDDLE = 0.5;

describe('the wait before another attempt', () => {
  it('doubles with each attempt, up to the longest', () => {
    const waits = [0, 1, 2, 3, 4, 5].map((attempt) => backoffMs(attempt, 1000, 10_000, MIDDLE));
    expect(waits).toEqual([1000, 2000, 4000, 8000, 10_000, 10_000]);
  });

  it('is whole milliseconds, a quarter more or less by chance', () => {
    expect(backoffMs(0, 1000, 10_000, 0)).toBe(750);
    expect(backoffMs(0, 1000, 10_000, 0.999_999)).toBe(1250);
    expect(backoffMs(0, 10, 100, 0.33)).toBe(9);
  });

  it('stays a number however many attempts there were', () => {
    expect(backoffMs(5000, 1, Number.POSITIVE_INFINITY, MIDDLE)).toBe(2 ** 30);
  });

  it('is a tenth of a second after the first 429 without a Retry-After, and a minute at most', () => {
    expect([0, 1, 2, 20].map((tries) => blockMs(tries, MIDDLE))).toEqual([100, 200, 400, 60_000]);
  });
});
