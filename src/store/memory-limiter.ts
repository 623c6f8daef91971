import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Draw, Grant, Limiter, LimiterView } from '../core/limiter.js';
import { GRANT_AHEAD_MS, type RateBucket, type RateProfile } from '../core/rate.js';
import { book, earliest, fullRing, late, type Ring, type RingRule } from '../core/ring.js';

/** A start later than planned by more than this is written back into the ring. */
const LATE_MS = 8;
/** How often single units may pass a heavier call that waits for a wider gap. */
const MAX_PASSED = 3;

interface Bucket {
  readonly name: string;
  readonly classes: readonly string[];
  readonly ring: Ring;
  rule: RingRule;
}

interface Waiter {
  readonly draw: Draw;
  readonly buckets: readonly Bucket[];
  readonly resolve: (grant: Grant) => void;
  passed: number;
}

/** Keeps a block over a restart of the process; the times are Unix ms. */
export interface BlockMemory {
  load(): { readonly until: number; readonly reason: string } | null;
  save(until: number, reason: string): void;
}

/**
 * The limiter of one worker process. It starts with full rings, since whoever ran a moment ago may have used the whole
 * window, and keeps its block where `memory` says. Its clock is monotonic: a step of the wall clock changes nothing.
 */
export class MemoryLimiter implements Limiter {
  readonly #profile: RateProfile;
  readonly #buckets: readonly Bucket[];
  readonly #memory: BlockMemory | null;
  #queue: Waiter[] = [];
  #timer: NodeJS.Timeout | undefined;
  #blockedUntil = Number.NEGATIVE_INFINITY;
  #blockReason: string | null = null;
  /** Lateness of recent starts in ms, for the margin. */
  readonly #lateness = new Float64Array(100);
  #starts = 0;

  constructor(profile: RateProfile, memory: BlockMemory | null = null) {
    this.#profile = profile;
    this.#memory = memory;
    const now = performance.now();
    this.#buckets = profile.buckets.map((bucket: RateBucket) => ({
      name: bucket.name,
      classes: bucket.classes,
      ring: fullRing(Math.max(1, Math.floor(bucket.qps)), now),
      rule: { limit: bucket.qps, margin: 0.01 },
    }));
    const kept = memory?.load();
    if (kept && kept.until > Date.now()) {
      this.#blockedUntil = now + kept.until - Date.now();
      this.#blockReason = kept.reason;
    }
  }

  acquire(draw: Draw, signal?: AbortSignal): Promise<Grant> {
    signal?.throwIfAborted();
    const buckets = draw.weight > 0 ? this.#bucketsOf(draw) : [];
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#queue = this.#queue.filter((other) => other !== waiter);
        reject(signal?.reason);
        this.#pump();
      };
      const waiter: Waiter = {
        draw,
        buckets,
        passed: 0,
        resolve: (grant) => {
          signal?.removeEventListener('abort', onAbort);
          resolve(grant);
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#queue.push(waiter);
      this.#pump();
    });
  }

  async start(grant: Grant, signal?: AbortSignal): Promise<'go' | 'blocked'> {
    for (;;) {
      const left = grant.startAt - performance.now();
      if (left <= 0) break;
      await delay(Math.ceil(left), undefined, { signal });
    }
    signal?.throwIfAborted();
    const now = performance.now();
    if (this.#blockedUntil > now) return 'blocked';
    if (grant.draw.weight > 0) this.#account(grant, now);
    return 'go';
  }

  async block(ms: number, reason: string): Promise<void> {
    const until = performance.now() + ms;
    if (until <= this.#blockedUntil) return;
    this.#blockedUntil = until;
    this.#blockReason = reason;
    this.#memory?.save(Date.now() + ms, reason);
    this.#pump();
  }

  async view(): Promise<LimiterView> {
    const left = this.#blockedUntil - performance.now();
    return {
      profile: this.#profile.name,
      qps: this.#buckets[0]?.rule.limit ?? 0,
      blockedUntil: left > 0 ? Date.now() + left : null,
      blockReason: left > 0 ? this.#blockReason : null,
      waiting: this.#queue.length,
    };
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
  }

  #account(grant: Grant, now: number): void {
    const lateBy = now - grant.startAt;
    this.#lateness[this.#starts++ % this.#lateness.length] = Math.min(lateBy, LATE_MS);
    if (lateBy > LATE_MS) {
      for (const bucket of this.#bucketsOf(grant.draw)) late(bucket.ring, grant.startAt, now, grant.draw.weight);
    }
    if (this.#starts % this.#lateness.length === 0) {
      const p99 = this.#lateness.toSorted()[this.#lateness.length - 2] as number;
      const margin = Math.min(0.025, Math.max(0.01, 0.008 + p99 / 1000));
      for (const bucket of this.#buckets) bucket.rule = { limit: bucket.rule.limit, margin };
    }
  }

  /** A class that no bucket names draws from the first: better slow than refused. */
  #bucketsOf(draw: Draw): readonly Bucket[] {
    const named = this.#buckets.filter((b) => b.classes.includes('*') || b.classes.includes(draw.rateClass));
    return named.length > 0 ? named : this.#buckets.slice(0, 1);
  }

  #startOf(waiter: Waiter, now: number): number {
    let start = Math.max(now, this.#blockedUntil);
    for (const { ring, rule } of waiter.buckets) start = Math.max(start, earliest(ring, rule, now, waiter.draw.weight));
    return start;
  }

  /**
   * Grants whoever may start within the next 250 ms, then sleeps until the next one may be granted. First come first served
   * among calls that draw from the same bucket.
   */
  #pump(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const now = performance.now();
    let wake = Number.POSITIVE_INFINITY;
    /** Buckets that an earlier waiter waits for: shut, or open for lone units that pass a heavy call. */
    const ahead = new Map<Bucket, Waiter | 'shut'>();
    this.#queue = this.#queue.filter((waiter) => {
      const before = waiter.buckets.flatMap((bucket) => ahead.get(bucket) ?? []);
      const heavy = before.filter((other) => other !== 'shut');
      const passes = heavy.length === before.length && (heavy.length === 0 || waiter.draw.weight === 1);
      const start = this.#startOf(waiter, now);
      if (passes && start - now <= GRANT_AHEAD_MS && heavy.every((other) => start < this.#startOf(other, now))) {
        for (const bucket of waiter.buckets) book(bucket.ring, start, waiter.draw.weight);
        for (const other of heavy) other.passed++;
        waiter.resolve({ draw: waiter.draw, startAt: start });
      } else {
        if (passes) wake = Math.min(wake, start);
        for (const bucket of waiter.buckets) {
          // A bucket that is not what holds this call back stays open to others.
          if (earliest(bucket.ring, bucket.rule, now, waiter.draw.weight) < start) continue;
          const passable = waiter.draw.weight > 1 && waiter.passed < MAX_PASSED && !ahead.has(bucket);
          ahead.set(bucket, passable ? waiter : 'shut');
        }
        return true;
      }
      for (const [bucket, other] of ahead)
        if (other !== 'shut' && other.passed >= MAX_PASSED) ahead.set(bucket, 'shut');
      return false;
    });
    if (wake === Number.POSITIVE_INFINITY) return;
    this.#timer = setTimeout(
      () => this.#pump(),
      Math.min(Math.max(1, Math.ceil(wake - now - GRANT_AHEAD_MS)), 2 ** 30),
    );
  }
}
