import { describe, expect, it } from 'vitest';
import { ask, type BucketState, newBucket, noteRefused } from '../../../src/core/limiter/rate-queue.js';

/** A request of the process `who` for starts at the time `now`, and the expected answer. */
interface AskStep {
  readonly now: number;
  readonly who: string;
  readonly weight?: number;
  readonly count?: number;
  readonly margin?: number;
  readonly queued?: number;
  /** Number of calls that got an answer 429 just before this request. */
  readonly refused?: number;
  readonly blockedUntil?: number;
  /** Names and limits of the buckets; default: one bucket of 4 units a second. */
  readonly on?: Readonly<Record<string, number>>;
  readonly starts: readonly number[];
  readonly comeAt: number;
}

/** The starts of a caller with nine calls, from a full ring to a ring that it has filled again. */
const fromNine: readonly AskStep[] = [
  { now: 0, who: 'a', count: 9, starts: [], comeAt: 760 },
  { now: 760, who: 'a', count: 9, starts: [1010], comeAt: 910 },
  { now: 910, who: 'a', count: 8, starts: [1160], comeAt: 1060 },
  { now: 1060, who: 'a', count: 7, starts: [1310], comeAt: 1210 },
  { now: 1210, who: 'a', starts: [1460], comeAt: 1770 },
];

/**
 * Sequences of requests for starts. Buckets are unused at the first request. At 4 units a second the gap between starts is 150 ms, and a ring
 * that is full at time 0 is empty again at time 1010.
 */
const askCases: Readonly<Record<string, readonly AskStep[]>> = {
  'a first request meets a full ring, and starts due within 250 ms are granted': [
    { now: 0, who: 'a', starts: [], comeAt: 760 },
    { now: 760, who: 'a', starts: [1010], comeAt: 910 },
  ],
  'a single caller is granted all starts within 250 ms': [
    { now: 0, who: 'a', count: 9, starts: [], comeAt: 760 },
    { now: 1500, who: 'a', count: 9, starts: [1500, 1650], comeAt: 1550 },
    { now: 1550, who: 'a', count: 7, starts: [1800], comeAt: 1700 },
    { now: 1700, who: 'a', count: 6, starts: [1950], comeAt: 2260 },
  ],
  'several callers get one start each, in the order of their requests': [
    { now: 0, who: 'a', count: 9, starts: [], comeAt: 760 },
    { now: 1, who: 'b', count: 9, starts: [], comeAt: 910 },
    { now: 2, who: 'c', count: 9, starts: [], comeAt: 1060 },
    { now: 758, who: 'b', count: 9, starts: [], comeAt: 910 },
    { now: 761, who: 'a', count: 9, starts: [1010], comeAt: 1210 },
    { now: 910, who: 'b', count: 9, starts: [1160], comeAt: 1770 },
    { now: 1060, who: 'c', count: 9, starts: [1310], comeAt: 1920 },
  ],
  'several callers of a fast limit get a few starts each if all are late': [
    { now: 0, who: 'a', on: { fast: 100 }, count: 90, starts: [], comeAt: 760 },
    { now: 1, who: 'b', on: { fast: 100 }, count: 90, starts: [], comeAt: 766 },
    {
      now: 800,
      who: 'a',
      on: { fast: 100 },
      count: 90,
      starts: [1010, 1016, 1022, 1028, 1034, 1040, 1046],
      comeAt: 820,
    },
  ],
  'a caller that does not come loses its turn, and nothing else': [
    { now: 0, who: 'dead', starts: [], comeAt: 760 },
    { now: 1, who: 'b', count: 3, starts: [], comeAt: 910 },
    { now: 850, who: 'b', count: 3, starts: [], comeAt: 910 },
    { now: 910, who: 'b', count: 3, starts: [1010, 1160], comeAt: 1060 },
  ],
  'single units overtake a heavy call that waits for a wider gap three times at most': [
    ...fromNine,
    { now: 1300, who: 'heavy', weight: 2, starts: [], comeAt: 1920 },
    { now: 1770, who: 'a', starts: [2020], comeAt: 1920 },
    { now: 1920, who: 'heavy', weight: 2, starts: [], comeAt: 2070 },
    { now: 1920, who: 'a', starts: [2170], comeAt: 2070 },
    { now: 2070, who: 'heavy', weight: 2, starts: [], comeAt: 2220 },
    { now: 2070, who: 'a', starts: [2320], comeAt: 2930 },
    { now: 2220, who: 'heavy', weight: 2, starts: [], comeAt: 2780 },
    { now: 2230, who: 'a', starts: [], comeAt: 2930 },
    { now: 2780, who: 'heavy', weight: 2, starts: [3030], comeAt: 3790 },
  ],
  'nothing starts before the end of a block, and then one after the other': [
    { now: 0, who: 'a', count: 9, starts: [], comeAt: 760 },
    { now: 5000, who: 'a', count: 9, blockedUntil: 8000, starts: [], comeAt: 7750 },
    { now: 5001, who: 'b', count: 9, blockedUntil: 8000, starts: [], comeAt: 7900 },
    { now: 7750, who: 'a', count: 9, blockedUntil: 8000, starts: [8000], comeAt: 8050 },
    { now: 7900, who: 'b', count: 9, blockedUntil: 8000, starts: [8150], comeAt: 8200 },
  ],
  'an asker that left during a block delays no other after the block was lifted': [
    { now: 0, who: 'a', starts: [], comeAt: 760 },
    { now: 5000, who: 'gone', blockedUntil: 1_805_000, starts: [], comeAt: 1_804_750 },
    { now: 6000, who: 'b', blockedUntil: 1_805_000, starts: [], comeAt: 1_804_900 },
    { now: 9200, who: 'b', blockedUntil: 0, starts: [9200], comeAt: 9100 },
  ],
  'a call without weight needs no unit, but waits for a block': [
    { now: 0, who: 'a', weight: 0, count: 3, starts: [0, 0, 0], comeAt: 0 },
    { now: 0, who: 'a', weight: 0, count: 3, blockedUntil: 400, starts: [], comeAt: 400 },
    { now: 400, who: 'a', weight: 0, count: 1, blockedUntil: 400, starts: [400], comeAt: 400 },
  ],
  'a call of two buckets waits for both, and others may use the free one meanwhile': [
    { now: 0, who: 'deep', on: { all: 4, deep: 1 }, count: 2, starts: [], comeAt: 760 },
    { now: 5000, who: 'deep', on: { all: 4, deep: 1 }, count: 2, starts: [5000], comeAt: 5760 },
    { now: 5001, who: 'plain', on: { all: 4 }, count: 1, starts: [5150], comeAt: 5050 },
    { now: 5760, who: 'deep', on: { all: 4, deep: 1 }, count: 1, starts: [6010], comeAt: 6770 },
  ],
  'a call of two buckets waits for a caller before it in one of them': [
    { now: 0, who: 'gone', on: { deep: 20 }, starts: [], comeAt: 760 },
    { now: 100, who: 'plain', on: { all: 20 }, starts: [], comeAt: 860 },
    { now: 900, who: 'both', on: { all: 20, deep: 20 }, starts: [], comeAt: 920 },
  ],
  'a turn among several callers is a fair part of the due starts, also after a late request': [
    { now: 0, who: 'a', on: { fast: 100 }, count: 90, starts: [], comeAt: 760 },
    { now: 1, who: 'b', on: { fast: 100 }, count: 90, starts: [], comeAt: 766 },
    {
      now: 855,
      who: 'a',
      on: { fast: 100 },
      count: 90,
      starts: [1010, 1016, 1022, 1028, 1034, 1040, 1046, 1052, 1058, 1064, 1070, 1076],
      comeAt: 875,
    },
  ],
  'a single unit does not overtake a heavy call with the same wait': [
    { now: 0, who: 'heavy', weight: 2, starts: [], comeAt: 760 },
    { now: 0, who: 'a', starts: [], comeAt: 910 },
  ],
  'no call overtakes a heavy call from a position after another one': [
    ...fromNine,
    { now: 1300, who: 'single', starts: [], comeAt: 1770 },
    { now: 1300, who: 'heavy', weight: 2, starts: [], comeAt: 2070 },
    { now: 1300, who: 'b', starts: [], comeAt: 2220 },
  ],
  'a heavy call does not overtake a heavier one': [
    ...fromNine,
    { now: 1300, who: 'heavier', weight: 3, starts: [], comeAt: 2070 },
    { now: 1300, who: 'heavy', weight: 2, starts: [], comeAt: 2780 },
  ],
  'a margin shrinks slowly with each start, never below the need of its caller': [
    { now: 0, who: 'late', margin: 0.2, starts: [], comeAt: 950 },
    { now: 5000, who: 'b', count: 9, starts: [5000, 5150], comeAt: 5050 },
    { now: 5050, who: 'b', count: 7, starts: [5300], comeAt: 5200 },
    { now: 5200, who: 'b', count: 6, starts: [5450], comeAt: 5950 },
  ],
  'a late caller widens the margin for all, and it shrinks again': [
    { now: 0, who: 'late', margin: 0.02, starts: [], comeAt: 770 },
    { now: 0, who: 'b', starts: [], comeAt: 920 },
  ],
  'answers that the service had queued widen the window, which recovers': [
    { now: 0, who: 'a', queued: 5, starts: [], comeAt: 810 },
    { now: 0, who: 'a', queued: 500, starts: [], comeAt: 1000 },
    { now: 0, who: 'a', starts: [], comeAt: 1000 },
    { now: 30_000, who: 'a', starts: [30_000], comeAt: 29_900 },
    { now: 30_000, who: 'b', on: { other: 4 }, starts: [], comeAt: 30_760 },
  ],
  'a refusal of calls within the limit widens the window, which narrows again within half an hour': [
    { now: 0, who: 'a', starts: [], comeAt: 760 },
    { now: 0, who: 'a', refused: 2, starts: [], comeAt: 775 },
    { now: 0, who: 'a', refused: 9, starts: [], comeAt: 790 },
    { now: 900_000, who: 'a', count: 5, starts: [900_000, 900_150], comeAt: 900_050 },
    { now: 900_050, who: 'a', count: 3, starts: [900_300], comeAt: 900_200 },
    { now: 900_200, who: 'a', count: 2, starts: [900_450], comeAt: 900_775 },
    { now: 2_700_000, who: 'a', count: 5, starts: [2_700_000, 2_700_150], comeAt: 2_700_050 },
    { now: 2_700_050, who: 'a', count: 3, starts: [2_700_300], comeAt: 2_700_200 },
    { now: 2_700_200, who: 'a', count: 2, starts: [2_700_450], comeAt: 2_700_760 },
  ],
};

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
