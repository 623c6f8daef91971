import fc from 'fast-check';
import { expect, it } from 'vitest';
import { failedPause, sentenceOf } from '../../../src/core/rows/pause.js';
import {
  addCounts,
  failsTooOften,
  isFailureLimit,
  isSameLimit,
  limitInAnswers,
  noAnswers,
} from '../../../src/core/rows/stop-at-failed.js';

const limit = { percent: 20, after: 50 };
const counts = (answered: number, failed: number) => ({ answered, failed, tags: { NO_CONTENT: failed } });

it('a share counts once enough answers came, and reaches the limit exactly', () => {
  expect(
    [counts(49, 49), counts(50, 9), counts(50, 10), counts(1000, 199)].map((one) => failsTooOften(one, limit)),
  ).toEqual([false, false, true, false]);
});

it('a limit is a percentage above 0 with a number of rows, or none', () => {
  for (const value of ['none', { percent: 100 }, { percent: 0.5, after: 1 }]) expect(isFailureLimit(value)).toBe(true);
  const wrong = [undefined, null, '20', 20, {}, { percent: 0 }, { percent: 101 }, { percent: '20' }];
  for (const value of [...wrong, { percent: 20, after: 0 }, { percent: Number.NaN }, { percent: 20, after: 1.5 }])
    expect(isFailureLimit(value)).toBe(false);
});

it('rows that share a run are counted as whole answers', () => {
  expect(limitInAnswers({ percent: 20 }, {})).toEqual(limit);
  expect(limitInAnswers({ percent: 20 }, { rowsPerRun: 20 })).toEqual({ percent: 20, after: 3 });
  for (const none of [undefined, null, 'none'] as const) expect(limitInAnswers(none, {})).toBeNull();
  expect(isSameLimit({ percent: 20 }, limit)).toBe(true);
  expect(isSameLimit({ percent: 20 }, { percent: 20, after: 51 })).toBe(false);
  expect(isSameLimit(undefined, 'none')).toBe(true);
});

it('adds counts in any order, and keeps the most frequent tags', () => {
  const of = fc.record({ answered: fc.nat(100), failed: fc.nat(100), tags: fc.dictionary(fc.string(), fc.nat(9)) });
  fc.assert(
    fc.property(of, of, (a, b) => {
      const { tags, ...sums } = addCounts(a, b);
      expect(sums).toEqual({ answered: a.answered + b.answered, failed: a.failed + b.failed });
      expect(Object.keys(tags).length).toBeLessThanOrEqual(10);
    }),
  );
  const many = Array.from({ length: 20 }, (_, nth) => ({ answered: 1, failed: 1, tags: { [`T${nth}`]: nth } }));
  expect(Object.keys(many.reduce(addCounts, noAnswers).tags)).toContain('T19');
});

it('the message has the numbers, the most frequent tag and the command', () => {
  const tags = { NO_CONTENT: 3, CRAWL_NOT_FOUND: 1200 };
  expect(failedPause({ answered: 6000, failed: 1203, tags }, limit, 'brands 1')).toEqual({
    reason: 'failed',
    message:
      '1,203 of 6,000 answers failed (20%), most often with CRAWL_NOT_FOUND (1,200); the job pauses if 20% of at least 50 answers fail',
    next: {
      text: "Correct the request and run the job's command again, or remove the limit (--stop-at-failed none). To accept these failures and count again",
      command: "resume 'brands 1'",
    },
  });
  expect(sentenceOf(failedPause(counts(50, 10), limit, null))).toMatch(/the next run buys the rest and counts again$/);
});
