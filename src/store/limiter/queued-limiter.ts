import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Grant, Limiter, LimiterView, RateCost } from '../../core/limiter/limiter.js';
import { bucketsFor } from '../../core/limiter/rate.js';
import { WaitQueue } from '../../core/processes/wait-queue.js';
import type { RateSource } from './shared-rates.js';

/** Lateness in ms above which a start is corrected in the ring. */
const LATE_MS = 3;
/** Lateness in ms above which a new start is requested, because other processes may use the time after the old start. */
const MISSED_MS = 250;
/** The largest margin of a process, as a part of a second; see `RingRule`. */
const LARGEST_MARGIN = 0.025;
/** The margin of a process that has not measured its lateness: its first calls arrive late, because none of the code has run before. */
const FIRST_MARGIN = 0.05;
/** Starts and ms until the first measurement of a process: a slow process would otherwise keep the largest margin for long. */
const FIRST_STARTS = 20;
const FIRST_MS = 3000;

/**
 * A limiter on top of a rate source: the rings in this process's memory or in a database. Calls wait in one queue for each kind, so that a
 * few heavy or rare calls never wait for hundreds of other calls. The limiter's clock is monotonic, so steps of the wall clock have no
 * effect.
 */
export class QueuedLimiter implements Limiter {
  readonly #source: RateSource;
  readonly #queues = new Map<string, TurnQueue>();
  /** Lateness of recent starts in ms, for the margin. */
  readonly #lateness = new Float64Array(100);
  #starts = 0;
  /** Time before which the margin is not measured; null once the first measurement is done. */
  #firstAt: number | null = Number.POSITIVE_INFINITY;
  #margin = FIRST_MARGIN;

  constructor(source: RateSource) {
    this.#source = source;
  }

  async acquire(rateCost: RateCost, signal?: AbortSignal): Promise<Grant> {
    return this.#queue(rateCost).wait(signal);
  }

  async start(grant: Grant, signal?: AbortSignal): Promise<'go' | 'blocked'> {
    for (let current = grant; ; current = await this.#queue(grant.rateCost).wait(signal, true)) {
      for (let left = current.startAt - performance.now(); left > 0; left = current.startAt - performance.now()) {
        await delay(Math.ceil(left), undefined, { signal });
      }
      signal?.throwIfAborted();
      const now = performance.now();
      if ((this.#source.block?.until ?? 0) > now) return 'blocked';
      if (now - current.startAt > MISSED_MS) continue;
      if (current.rateCost.weight > 0) this.#account(current, now);
      return 'go';
    }
  }

  async block(ms: number, reason: string, refused?: RateCost): Promise<void> {
    if (refused && refused.weight > 0) this.#source.refused(refused);
    const since = performance.now();
    const until = since + ms;
    if (until > (this.#source.block?.until ?? 0)) await this.#source.hold({ since, until, reason });
  }

  unblock(): Promise<void> {
    return this.#source.lift();
  }

  queued(rateCost: RateCost): void {
    this.#queue(rateCost).noteQueued();
  }

  async view(of?: RateCost): Promise<LimiterView> {
    const { buckets, waiting } = await this.#source.view();
    const { profile, block } = this.#source;
    const named = of && bucketsFor(profile, of.rateClass).map(({ name }) => name);
    const counted = named ? buckets.filter(({ name }) => named.includes(name)) : buckets.slice(0, 1);
    const [slowest] = [...counted].sort((one, other) => one.effectiveQps - other.effectiveQps);
    const now = performance.now();
    const left = (block?.until ?? 0) - now;
    const here = [...this.#queues.values()].reduce((sum, queue) => sum + queue.waiting, 0);
    return {
      profile: profile.name,
      qps: slowest?.qps ?? 0,
      effectiveQps: slowest?.effectiveQps ?? 0,
      buckets,
      blockedUntil: left > 0 ? Date.now() + left : null,
      blockedSince: left > 0 && block ? Date.now() + block.since - now : null,
      blockReason: left > 0 ? (block?.reason ?? null) : null,
      waiting: here + waiting,
    };
  }

  async close(): Promise<void> {
    for (const queue of this.#queues.values()) queue.close(new Error('The limiter was closed'));
    await this.#source.close();
  }

  #queue(rateCost: RateCost): TurnQueue {
    const name = `${rateCost.rateClass}/${rateCost.weight}`;
    const known = this.#queues.get(name);
    if (known) return known;
    const queue = new TurnQueue(this.#source, rateCost, name, () => this.#margin);
    this.#queues.set(name, queue);
    return queue;
  }

  #account(grant: Grant, now: number): void {
    const lateBy = now - grant.startAt;
    this.#lateness[this.#starts++ % this.#lateness.length] = lateBy;
    if (lateBy > LATE_MS) this.#source.late(grant, now);
    if (this.#starts === 1) this.#firstAt = now + FIRST_MS;
    const isFirst = this.#firstAt !== null && now >= this.#firstAt && this.#starts >= FIRST_STARTS;
    if (!isFirst && this.#starts % this.#lateness.length !== 0) return;
    this.#firstAt = null;
    const known = this.#lateness.slice(0, this.#starts).sort();
    const p99 = known[Math.ceil(0.99 * known.length) - 1] as number;
    this.#margin = Math.min(LARGEST_MARGIN, Math.max(0.01, 0.006 + p99 / 4000));
  }
}

/**
 * Longest pause between two requests to the rate source. Requests show other processes how many calls wait, and notice a change of the
 * source's clock.
 */
const LONGEST_SLEEP_MS = 2000;

/** Calls of one kind that wait for their turn, first come first served. One request to the rate source covers all waiting calls. */
class TurnQueue {
  readonly #source: RateSource;
  readonly #rateCost: RateCost;
  readonly #name: string;
  readonly #margin: () => number;
  readonly #calls = new WaitQueue<null, Grant>();
  #queued = 0;
  #running = false;
  #sleep = new AbortController();

  constructor(source: RateSource, rateCost: RateCost, name: string, margin: () => number) {
    this.#source = source;
    this.#rateCost = rateCost;
    this.#name = name;
    this.#margin = margin;
  }

  get waiting(): number {
    return this.#calls.size;
  }

  /** Records that a call waited in the service's own queue; the next request reports it. */
  noteQueued(): void {
    this.#queued++;
  }

  /** Waits for a turn. `first`: the call goes before all others, because the call had a turn already. */
  wait(signal?: AbortSignal, first = false): Promise<Grant> {
    const onAbort = () => {
      if (this.#calls.size === 0) this.#sleep.abort();
    };
    const turn = this.#calls.wait(null, { signal, first, onAbort });
    if (!this.#running && this.#calls.size > 0) {
      this.#running = true;
      // Calls of the same moment share one request.
      queueMicrotask(() => void this.#run());
    }
    return turn;
  }

  close(reason: unknown): void {
    this.#calls.rejectAll(reason);
    this.#sleep.abort();
  }

  async #run(): Promise<void> {
    try {
      while (this.#calls.size > 0) {
        const queued = this.#queued;
        this.#queued = 0;
        const { starts, comeAt } = await this.#source.ask({
          rateCost: this.#rateCost,
          queue: this.#name,
          count: this.#calls.size,
          margin: this.#margin(),
          queued,
        });
        // A call that was aborted in the meantime leaves its start unused. Starts are granted at most 250 ms ahead.
        for (const start of starts) this.#calls.next?.resolve({ rateCost: this.#rateCost, ...start });
        if (this.#calls.size > 0) await this.#sleepUntil(comeAt);
      }
    } catch (error) {
      this.close(error);
    } finally {
      this.#running = false;
    }
  }

  async #sleepUntil(time: number): Promise<void> {
    this.#sleep = new AbortController();
    const ms = Math.min(LONGEST_SLEEP_MS, Math.max(0, Math.ceil(time - performance.now())));
    await delay(ms, undefined, { signal: this.#sleep.signal }).catch(() => undefined);
  }
}
