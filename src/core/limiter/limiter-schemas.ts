import { z } from 'zod';
import { count, list, maybeText, number, text, time, type ValueOf } from '../base-schemas.js';

export const bucketView = z.object({
  name: text,
  qps: number.describe('Units a second. `effectiveQps`: after margins and backpressure.'),
  effectiveQps: number,
  used: number.describe('Units of all callers that started within the last second.'),
});
/** The present state of one bucket of the rate profile. */
export type BucketView = ValueOf<typeof bucketView>;

export const limiterView = z.object({
  profile: text,
  qps: number.describe('The rate of the first bucket, or of the slowest bucket of a call.'),
  effectiveQps: number,
  buckets: list(bucketView),
  blockedUntil: time,
  blockedSince: time.describe('When the answer came that began the block.'),
  blockReason: maybeText,
  waiting: count.describe('Waiting calls of all processes that share the limit.'),
});
/** The present state of a limiter. Times are Unix milliseconds. */
export type LimiterView = ValueOf<typeof limiterView>;

export const slotsInUse = z.object({
  limit: count,
  held: count.describe('Slots that owners of this store hold.'),
  elsewhere: count.describe('Runs in progress at the service for which no owner of this store holds a slot.'),
  waiting: count,
  leftRunning: count.describe('Number of held slots whose run took longer than `--max-run-time`.'),
});
/** The slots, with the slots that runs left running hold. */
export type SlotsInUse = ValueOf<typeof slotsInUse>;
export type SlotsView = Omit<SlotsInUse, 'leftRunning'>;
