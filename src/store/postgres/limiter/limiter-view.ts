import type { BucketView } from '../../../core/limiter/limiter.js';
import { limitOf, type RateBucket } from '../../../core/limiter/rate.js';
import { type BucketState, bucketView, type QueueEntry, stillWaits } from '../../../core/limiter/rate-queue.js';

/** A row of `limiter_buckets`. */
export interface BucketRow extends Omit<BucketState, 'turns' | 'backpressure' | 'backpressureAt' | 'guardAt'> {
  readonly scope: string;
  readonly name: string;
  readonly slack: number;
  readonly slack_at: number;
  readonly guard_at: number;
  readonly turns: readonly QueueEntry[];
}

/** View of a bucket from its row; a bucket without a row is unused. */
export function viewOf(rows: readonly BucketRow[], bucket: RateBucket, scope: string, now: number): BucketView {
  const row = rows.find((one) => one.scope === scope && one.name === bucket.name);
  if (row)
    return bucketView(
      bucket,
      { ...row, backpressure: row.slack, backpressureAt: row.slack_at, guardAt: row.guard_at },
      now,
    );
  return { name: bucket.name, qps: bucket.qps, effectiveQps: limitOf(bucket), used: 0 };
}

/** Number of calls that wait in other processes. A queue that waits for two buckets is counted once. */
export function waitingElsewhere(rows: readonly BucketRow[], me: string, now: number): number {
  const others = rows
    .flatMap(({ turns }) => turns)
    .filter((turn) => stillWaits(turn, now) && !turn.who.startsWith(`${me}/`));
  return [...new Map(others.map(({ who, waiting }) => [who, waiting])).values()].reduce((sum, count) => sum + count, 0);
}
