import { performance } from 'node:perf_hooks';
import type { BucketView, Grant, RateCost } from '../../core/limiter/limiter.js';
import { bucketsFor, type RateBucket, type RateProfile, wholeUnits } from '../../core/limiter/rate.js';
import { ask, type BucketState, bucketView, late, newBucket, refused } from '../../core/limiter/rate-queue.js';
import { QueuedLimiter } from './queued-limiter.js';
import type { Block, GrantedStart, RateSource, Wanted } from './rate-source.js';

/** Longer than any window of a rate limit, in ms: a window is a second and its margin. */
const UNUSED_MS = 10_000;

/** The time between two looks whether another process has lifted the block, in ms. */
const LOOK_MS = 1000;

/**
 * Keeps a block across restarts of the process; times in Unix ms. `at`: when the record was saved. A record whose end is past says that the
 * block was lifted.
 */
export interface BlockMemory {
  load(): { readonly until: number; readonly at: number; readonly reason: string } | null;
  save(until: number, reason: string): void | Promise<void>;
}

/**
 * The limiter of one worker process. The limiter starts with full rings, because an earlier process may have used the whole limit in the
 * last second. `memory` keeps the block across restarts. `unused`: certainly no process has used the limit in the last second.
 */
export class MemoryLimiter extends QueuedLimiter {
  readonly #source: MemoryRateSource;

  constructor(profile: RateProfile, memory: BlockMemory | null = null, { unused = false } = {}) {
    const source = new MemoryRateSource(profile, memory, unused ? UNUSED_MS : 0);
    super(source);
    this.#source = source;
  }

  /** Counts the last second as used and loads the kept block, because another process has used the limit. */
  refill(): void {
    this.#source.refill();
  }
}

class MemoryRateSource implements RateSource {
  readonly profile: RateProfile;
  readonly #memory: BlockMemory | null;
  #states: ReadonlyMap<RateBucket, BucketState> = new Map();
  #block: Block | null = null;
  #lookAt = 0;

  constructor(profile: RateProfile, memory: BlockMemory | null, unusedMs: number) {
    this.profile = profile;
    this.#memory = memory;
    this.refill(unusedMs);
  }

  /** Counts the limit as used until `unusedMs` before now, and loads the kept block. */
  refill(unusedMs = 0): void {
    const now = performance.now();
    const usedUntil = now - unusedMs;
    this.#states = new Map(this.profile.buckets.map((bucket) => [bucket, newBucket(wholeUnits(bucket), usedUntil)]));
    const kept = this.#memory?.load();
    const local = (time: number) => now + time - Date.now();
    if (kept && kept.until > Date.now())
      this.#block = { since: local(kept.at), until: local(kept.until), reason: kept.reason };
  }

  get block(): Block | null {
    const now = performance.now();
    if (this.#block === null || this.#block.until <= now || now < this.#lookAt) return this.#block;
    this.#lookAt = now + LOOK_MS;
    const kept = this.#memory?.load();
    const isLater = kept != null && kept.at - Date.now() > this.#block.since - now;
    if (isLater && kept.until <= Date.now()) this.#block = null;
    return this.#block;
  }

  async ask({ rateCost, queue, ...asked }: Wanted): Promise<{ starts: GrantedStart[]; comeAt: number }> {
    const buckets = this.#limited(rateCost);
    const until = this.block?.until ?? Number.NEGATIVE_INFINITY;
    const { starts, comeAt } = ask(buckets, performance.now(), until, {
      who: queue,
      weight: rateCost.weight,
      ...asked,
    });
    return { starts: starts.map((startAt) => ({ startAt, reservedAt: startAt })), comeAt };
  }

  late({ rateCost, reservedAt }: Grant, startedAt: number): void {
    for (const bucket of bucketsFor(this.profile, rateCost.rateClass)) {
      late(this.#state(bucket).ring, reservedAt, startedAt, rateCost.weight);
    }
  }

  refused(rateCost: RateCost): void {
    for (const bucket of this.#limited(rateCost)) refused(bucket, performance.now());
  }

  async hold(block: Block): Promise<void> {
    this.#block = block;
    await this.#memory?.save(Date.now() + block.until - performance.now(), block.reason);
  }

  async lift(): Promise<void> {
    this.#block = null;
    await this.#memory?.save(0, '');
  }

  async poll(): Promise<{ buckets: BucketView[]; waiting: number }> {
    const now = performance.now();
    return { buckets: this.profile.buckets.map((bucket) => bucketView(bucket, this.#state(bucket), now)), waiting: 0 };
  }

  async close(): Promise<void> {}

  #limited({ rateClass }: RateCost) {
    return bucketsFor(this.profile, rateClass).map((bucket) => ({
      bucket: this.#state(bucket),
      limit: wholeUnits(bucket),
    }));
  }

  #state(bucket: RateBucket): BucketState {
    return this.#states.get(bucket) as BucketState;
  }
}
