import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Draw, Grant, Limiter, LimiterView } from '../../core/limiter/limiter.js';
import { Lane } from './wait-queue.js';
import type { Meter } from './rate-source.js';

/** A start later than planned by more than this is written back into the ring. */
const LATE_MS = 3;
/** A start missed by more than this is given up for a new one: others may have been granted what follows it. */
const MISSED_MS = 250;

/**
 * A limiter in front of a meter: calls wait in lanes of one kind each, so that a few heavy or rare ones never stand behind
 * hundreds of others. Its clock is monotonic: a step of the wall clock changes nothing.
 */
export class QueuedLimiter implements Limiter {
  readonly #meter: Meter;
  readonly #lanes = new Map<string, Lane>();
  /** Lateness of recent starts in ms, for the margin. */
  readonly #lateness = new Float64Array(100);
  #starts = 0;
  #margin = 0.01;

  constructor(meter: Meter) {
    this.#meter = meter;
  }

  async acquire(draw: Draw, signal?: AbortSignal): Promise<Grant> {
    return this.#lane(draw).wait(signal);
  }

  async start(grant: Grant, signal?: AbortSignal): Promise<'go' | 'blocked'> {
    for (let mine = grant; ; mine = await this.#lane(grant.draw).wait(signal, true)) {
      for (let left = mine.startAt - performance.now(); left > 0; left = mine.startAt - performance.now()) {
        await delay(Math.ceil(left), undefined, { signal });
      }
      signal?.throwIfAborted();
      const now = performance.now();
      if ((this.#meter.block?.until ?? 0) > now) return 'blocked';
      if (now - mine.startAt > MISSED_MS) continue;
      if (mine.draw.weight > 0) this.#account(mine, now);
      return 'go';
    }
  }

  async block(ms: number, reason: string, refused?: Draw): Promise<void> {
    if (refused && refused.weight > 0) this.#meter.refused(refused);
    const until = performance.now() + ms;
    if (until > (this.#meter.block?.until ?? 0)) await this.#meter.hold({ until, reason });
  }

  queued(draw: Draw): void {
    this.#lane(draw).noteQueued();
  }

  async view(): Promise<LimiterView> {
    const { buckets, waiting } = await this.#meter.look();
    const { profile, block } = this.#meter;
    const left = (block?.until ?? 0) - performance.now();
    const here = [...this.#lanes.values()].reduce((sum, lane) => sum + lane.waiting, 0);
    return {
      profile: profile.name,
      qps: buckets[0]?.qps ?? 0,
      effectiveQps: buckets[0]?.effectiveQps ?? 0,
      buckets,
      blockedUntil: left > 0 ? Date.now() + left : null,
      blockReason: left > 0 ? (block?.reason ?? null) : null,
      waiting: here + waiting,
    };
  }

  async close(): Promise<void> {
    for (const lane of this.#lanes.values()) lane.close(new Error('The limiter was closed'));
    await this.#meter.close();
  }

  #lane(draw: Draw): Lane {
    const name = `${draw.rateClass}/${draw.weight}`;
    const known = this.#lanes.get(name);
    if (known) return known;
    const lane = new Lane(this.#meter, draw, name, () => this.#margin);
    this.#lanes.set(name, lane);
    return lane;
  }

  #account(grant: Grant, now: number): void {
    const lateBy = now - grant.startAt;
    this.#lateness[this.#starts++ % this.#lateness.length] = lateBy;
    if (lateBy > LATE_MS) this.#meter.late(grant, now);
    if (this.#starts % this.#lateness.length === 0) {
      const p99 = this.#lateness.toSorted()[this.#lateness.length - 2] as number;
      this.#margin = Math.min(0.025, Math.max(0.01, 0.006 + p99 / 4000));
    }
  }
}
