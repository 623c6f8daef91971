import { performance } from 'node:perf_hooks';
import type { Grant, RateCost } from '../../core/limiter/limiter.js';
import { bucketsFor, type RateBucket, type RateProfile, wholeUnits } from '../../core/limiter/rate.js';
import { ask, type BucketState, bucketView, late, newBucket, noteRefused } from '../../core/limiter/rate-queue.js';
import { QueuedLimiter } from './queued-limiter.js';
import type { Block, RateSource, WantedTurns } from './shared-rates.js';

/** Longer than any window of a rate limit, in ms: a window is a second and its margin. */
export const UNUSED_MS = 10_000;

/**
 * The limiter of one process. It starts with full rings, because an earlier process may have used the whole limit in the last second.
 * `unused`: certainly no process has used the limit in the last second.
 */
export class MemoryLimiter extends QueuedLimiter {
  constructor(profile: RateProfile, { unused = false } = {}) {
    super(new MemoryRates(profile, performance.now() - (unused ? UNUSED_MS : 0)));
  }
}

/** Buckets in the memory of this process, by its own clock. */
class MemoryRates implements RateSource {
  readonly profile: RateProfile;
  readonly #states: ReadonlyMap<RateBucket, BucketState>;
  block: Block | null = null;

  constructor(profile: RateProfile, usedUntil: number) {
    this.profile = profile;
    this.#states = new Map(profile.buckets.map((bucket) => [bucket, newBucket(wholeUnits(bucket), usedUntil)]));
  }

  async ask({ rateCost, queue, ...asked }: WantedTurns) {
    const until = this.block?.until ?? Number.NEGATIVE_INFINITY;
    const wanted = { who: queue, weight: rateCost.weight, ...asked };
    const { starts, comeAt } = ask(this.#limited(rateCost), performance.now(), until, wanted);
    return { starts: starts.map((startAt) => ({ startAt, reservedAt: startAt })), comeAt };
  }

  late({ rateCost, reservedAt }: Grant, startedAt: number): void {
    for (const { bucket } of this.#limited(rateCost)) late(bucket.ring, reservedAt, startedAt, rateCost.weight);
  }

  refused(rateCost: RateCost): void {
    for (const bucket of this.#limited(rateCost)) noteRefused(bucket, performance.now());
  }

  async hold(block: Block): Promise<void> {
    this.block = block;
  }

  async lift(): Promise<void> {
    this.block = null;
  }

  async view() {
    const now = performance.now();
    const buckets = this.profile.buckets.map((bucket) => bucketView(bucket, this.#state(bucket), now));
    return { buckets, waiting: 0 };
  }

  async close(): Promise<void> {}

  #limited({ rateClass }: RateCost) {
    const counted = bucketsFor(this.profile, rateClass);
    return counted.map((bucket) => ({ bucket: this.#state(bucket), limit: wholeUnits(bucket) }));
  }

  #state(bucket: RateBucket): BucketState {
    return this.#states.get(bucket) as BucketState;
  }
}
