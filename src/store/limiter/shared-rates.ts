import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { BucketView, Grant, RateCost } from '../../core/limiter/limiter.js';
import { bucketsFor, type RateBucket, type RateProfile, wholeUnits } from '../../core/limiter/rate.js';
import {
  ask,
  type BucketState,
  bucketView,
  late,
  newBucket,
  noteRefused,
  stillWaits,
} from '../../core/limiter/rate-queue.js';

/** A granted start, by this process's clock (`performance.now()`) and by the clock of the rate source. */
export type GrantedStart = Pick<Grant, 'startAt' | 'reservedAt'>;

/** Request of a queue of waiting calls; see `ask` in `core/limiter/rate-queue`. */
export interface WantedTurns {
  readonly rateCost: RateCost;
  /** Name of the queue, the same in each request. */
  readonly queue: string;
  readonly count: number;
  readonly margin: number;
  readonly queued: number;
}

export interface Block {
  /** The beginning and the end of the block, in this process's clock. */
  readonly since: number;
  readonly until: number;
  readonly reason: string;
}

/**
 * Keeps the team's rings and its block: in the memory of this process, in a file or in a database. All times except `reservedAt` are of this
 * process's monotonic clock.
 */
export interface RateSource {
  readonly profile: RateProfile;
  /** The last known block, which may be over. */
  readonly block: Block | null;
  ask(wanted: WantedTurns): Promise<{ readonly starts: readonly GrantedStart[]; readonly comeAt: number }>;
  /** Records that a call started later than its reserved start. */
  late(grant: Grant, startedAt: number): void;
  /** Records that a call was refused for its rate; see `noteRefused` in `core/limiter/rate-queue`. */
  refused(rateCost: RateCost): void;
  /** Blocks the team: in this process at once. The block is durable when the returned promise resolves. */
  hold(block: Block): Promise<void>;
  /** Ends the block, also for other processes, which notice it within seconds. */
  lift(): Promise<void>;
  /** Reads the rings and the number of calls that wait in other processes. Updates `block`. */
  view(): Promise<{ readonly buckets: readonly BucketView[]; readonly waiting: number }>;
  close(): Promise<void>;
}

/** The buckets of a limit by name. */
export type Buckets = Record<string, BucketState>;

/** The state of a limit. Times are in ms of the store's clock. */
export interface RateState {
  readonly now: number;
  /** When `now` was asked for and answered, by this process's clock (`performance.now()`). */
  readonly askedAt: number;
  readonly answeredAt: number;
  readonly buckets: Buckets;
  /** Time in ms for which a bucket that is not among them has certainly been unused. */
  readonly unusedMs: number;
  /** The block of the team, which may be over. */
  readonly block: { readonly since: number; readonly until: number; readonly reason: string } | null;
}

/** Keeps the state of one limit for many processes. */
export interface RateStore {
  /** Applies `work` to the buckets while no other process does, and returns its result. `work` may be repeated. */
  change<T>(
    work: (state: RateState) => T,
    signal?: AbortSignal,
  ): Promise<{ readonly result: T; readonly state: RateState }>;
  look(signal?: AbortSignal): Promise<RateState>;
  /** Begins a block, unless a longer block has begun. */
  hold(until: number, reason: string, signal?: AbortSignal): Promise<void>;
  /** Ends the block. */
  lift(signal?: AbortSignal): Promise<void>;
  /** Calls `changed` when another process begins or ends a block. Absent: the state must be looked at. */
  listen?(changed: () => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

/** Interval at which the store is asked for a block while a granted call waits for its start. */
const POLL_MS = 120;
/** Longest wait for the state for a view, in ms. After this time, the view shows the last known state. */
const VIEW_WAIT_MS = 1000;
/** Age up to which a view of a shared state is reused. */
const VIEW_AGE_MS = 200;

/** Rings that processes share in a store. Converts between the clock of this process and that of the store. */
export class SharedRates implements RateSource {
  readonly profile: RateProfile;
  readonly #store: RateStore;
  readonly #key: string;
  readonly #me = randomUUID();
  readonly #clock = new StoreClock();
  readonly #closed = new AbortController();
  #block: Block | null = null;
  /** The time since which the store has the latest block of this process; infinite while it is being written, or could not be. */
  #heldAt = Number.NEGATIVE_INFINITY;
  #updatedAt = Number.NEGATIVE_INFINITY;
  #listening: Promise<() => Promise<void>> | null = null;
  /** Latest start of a granted call (`performance.now()`). */
  #grantedUntil = 0;
  #poll: NodeJS.Timeout | undefined;
  #viewed: { at: number; buckets: readonly BucketView[]; waiting: number };
  #viewing: Promise<void> | null = null;

  /** `key`: fingerprint of this process's key, for limits of a single key. */
  constructor(profile: RateProfile, store: RateStore, key: string) {
    this.profile = profile;
    this.#store = store;
    this.#key = key;
    const buckets = profile.buckets.map(({ name, qps }) => ({ name, qps, effectiveQps: qps, used: 0 }));
    this.#viewed = { at: Number.NEGATIVE_INFINITY, buckets, waiting: 0 };
  }

  get block(): Block | null {
    return this.#block;
  }

  async ask({ rateCost, queue, ...asked }: WantedTurns) {
    if (this.#store.listen) this.#listening ??= this.#store.listen(() => this.#refreshInBackground());
    const wanted = { who: `${this.#me}/${queue}`, weight: rateCost.weight, ...asked };
    const askIn = (state: RateState) =>
      ask(this.#limited(rateCost, state), state.now, this.#blockedUntil(state), wanted);
    // A call without weight waits only for the end of a block, and changes no bucket.
    const answered = rateCost.weight > 0 ? await this.#change(askIn) : askIn(await this.#refresh());
    const { starts: times, comeAt } = answered;
    const starts = times.map((reservedAt) => ({ reservedAt, startAt: this.#clock.toLocal(reservedAt) }));
    const last = starts.at(-1);
    if (last) this.#watch(last.startAt);
    return { starts, comeAt: this.#clock.toLocal(comeAt) };
  }

  late({ rateCost, reservedAt }: Grant, startedAt: number): void {
    const actual = this.#clock.toStore(startedAt);
    this.#changeInBackground((state) => {
      for (const { bucket } of this.#limited(rateCost, state)) late(bucket.ring, reservedAt, actual, rateCost.weight);
    });
  }

  refused(rateCost: RateCost): void {
    this.#changeInBackground((state) => {
      for (const bucket of this.#limited(rateCost, state)) noteRefused(bucket, state.now);
    });
  }

  async hold(block: Block): Promise<void> {
    this.#block = block;
    this.#heldAt = Number.POSITIVE_INFINITY;
    if (this.#updatedAt < 0) await this.#refresh();
    await this.#store.hold(this.#clock.toStore(block.until), block.reason, this.#closed.signal);
    if (this.#block === block) this.#heldAt = performance.now();
  }

  async lift(): Promise<void> {
    await this.#store.lift(this.#closed.signal);
    this.#block = null;
  }

  async view() {
    if (performance.now() - this.#viewed.at > VIEW_AGE_MS) {
      this.#viewing ??= this.#read()
        .catch(() => undefined)
        .finally(() => {
          this.#viewing = null;
        });
      await Promise.race([this.#viewing, delay(VIEW_WAIT_MS, undefined, { ref: false })]);
    }
    return this.#viewed;
  }

  async close(): Promise<void> {
    this.#closed.abort(new Error('The limiter was closed'));
    clearInterval(this.#poll);
    const unlisten = await this.#listening;
    await unlisten?.();
    await this.#store.close();
  }

  /** The buckets that a call counts against. */
  #limited({ rateClass }: RateCost, state: RateState) {
    const counted = bucketsFor(this.profile, rateClass);
    return counted.map((bucket) => ({ bucket: this.#bucket(bucket, state), limit: wholeUnits(bucket) }));
  }

  /** The end of the block, by the store's clock. A block that the store could not take counts in this process. */
  #blockedUntil({ block }: RateState): number {
    const own = this.#heldAt === Number.POSITIVE_INFINITY && this.#block ? this.#clock.toStore(this.#block.until) : 0;
    return Math.max(block?.until ?? Number.NEGATIVE_INFINITY, own);
  }

  #bucket(bucket: RateBucket, { now, buckets, unusedMs }: RateState): BucketState {
    const name = bucket.of === 'key' ? `${bucket.name} ${this.#key}` : bucket.name;
    buckets[name] ??= newBucket(wholeUnits(bucket), now - unusedMs);
    return buckets[name];
  }

  async #read(): Promise<void> {
    const state = await this.#refresh();
    const buckets = this.profile.buckets.map((bucket) => bucketView(bucket, this.#bucket(bucket, state), state.now));
    this.#viewed = { at: performance.now(), buckets, waiting: waitingElsewhere(state, this.#me) };
  }

  /** Looks at the block until the time `until`. */
  #watch(until: number): void {
    this.#grantedUntil = Math.max(this.#grantedUntil, until);
    this.#poll ??= setInterval(() => {
      const now = performance.now();
      if (now > this.#grantedUntil) {
        clearInterval(this.#poll);
        this.#poll = undefined;
      } else if (now - this.#updatedAt > POLL_MS / 2) {
        this.#refreshInBackground();
      }
    }, POLL_MS);
  }

  /** Updates the block in the background. If the update fails, the next request reports the reason. */
  #refreshInBackground(): void {
    void this.#refresh().catch(() => undefined);
  }

  async #refresh(): Promise<RateState> {
    return this.#see(await this.#store.look(this.#closed.signal));
  }

  /** Failures are ignored: the store cannot be reached, and then its buckets will be outdated anyway. */
  #changeInBackground(work: (state: RateState) => void): void {
    this.#change(work).catch(() => undefined);
  }

  async #change<T>(work: (state: RateState) => T): Promise<T> {
    const { result, state } = await this.#store.change(work, this.#closed.signal);
    this.#see(state);
    return result;
  }

  #see(state: RateState): RateState {
    const { now, askedAt, answeredAt, block } = state;
    this.#updatedAt = answeredAt;
    this.#clock.observe(askedAt, answeredAt, now);
    const found = block && {
      ...block,
      since: this.#clock.toLocal(block.since),
      until: this.#clock.toLocal(block.until),
    };
    // An answer to a question of before may lack the block of this process.
    const own = askedAt > this.#heldAt ? 0 : (this.#block?.until ?? 0);
    if ((found?.until ?? performance.now()) > own) this.#block = found;
    return state;
  }
}

/** Number of calls that wait in other processes. A queue that waits for two buckets is counted once. */
function waitingElsewhere({ buckets, now }: RateState, me: string): number {
  const others = Object.values(buckets)
    .flatMap(({ turns }) => turns)
    .filter((turn) => stillWaits(turn, now) && !turn.who.startsWith(`${me}/`));
  return [...new Map(others.map(({ who, waiting }) => [who, waiting])).values()].reduce((sum, count) => sum + count, 0);
}

/** Differences up to this time come from reading two clocks one after the other. Such differences do not show that a clock was set. */
const SLOP_MS = 2;

/**
 * Converts between the store's clock and this process's monotonic clock. Each answer contains the store's time at a moment between request
 * and answer, so the fastest answer gives the most exact offset. If a later answer contradicts the offset, a clock was set or drifted, and
 * the offset of that answer is used.
 */
class StoreClock {
  #offset = 0;
  #roundTrip = Number.POSITIVE_INFINITY;

  observe(askedAt: number, answeredAt: number, storeNow: number): void {
    const [least, most] = [storeNow - answeredAt, storeNow - askedAt];
    const contradicts = this.#offset < least - SLOP_MS || this.#offset > most + SLOP_MS;
    if (!contradicts && answeredAt - askedAt > this.#roundTrip) return;
    this.#offset = (least + most) / 2;
    this.#roundTrip = answeredAt - askedAt;
  }

  toLocal(storeTime: number): number {
    return storeTime - this.#offset;
  }

  toStore(localTime: number): number {
    return localTime + this.#offset;
  }
}
