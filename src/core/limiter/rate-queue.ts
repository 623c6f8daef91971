import { queuedCalls, recovered, refusedCalls, widened } from './backpressure.js';
import type { BucketView } from './limiter.js';
import { GRANT_AHEAD_MS, limitOf, type RateBucket } from './rate.js';
import { book, earliest, fullRing, type Ring, resize } from './ring.js';

/** Somebody who waits on a bucket: the calls of one kind of one process. */
export interface QueueEntry {
  readonly who: string;
  readonly weight: number;
  /** Single units that were let past it. */
  readonly passed: number;
  /** When it comes again; it loses its place where it doesn't. */
  readonly due: number;
  /** Calls that wait behind it. */
  readonly waiting: number;
}

/** All that is known of a bucket. Times are of whoever holds it: a process, or the database. */
export interface BucketState {
  readonly ring: Ring;
  margin: number;
  /** Part of a second added to each window because the service says it queues our calls; it shrinks by itself. */
  backpressure: number;
  backpressureAt: number;
  /** Part of a second added to each window because calls were refused within it; it shrinks by itself, too. */
  guard: number;
  guardAt: number;
  /** Those who wait, first come first served. */
  turns: readonly QueueEntry[];
}

export interface Asked {
  /** Asks again under the same name, until it waits no longer. */
  readonly who: string;
  readonly weight: number;
  /** Calls that wait; all of the same weight. */
  readonly count: number;
  /** What the starts of this process need, see `RingRule`. */
  readonly margin: number;
  /** Answers since it asked last that had waited in the service's own queue. */
  readonly queued: number;
}

export interface Answered {
  /** Starts of as many calls as may start within the next 250 ms. */
  readonly starts: readonly number[];
  /** Where calls are left: when to ask for them. */
  readonly comeAt: number;
}

/** Whoever doesn't come for this long after its time is taken for dead. */
const GRACE_MS = 100;
/** When to ask again where somebody who goes first has not come yet. */
const AGAIN_MS = 20;
/** How often single units may pass a heavier call that waits for a wider gap. */
const MAX_PASSED = 3;
/** By so much the margin shrinks with each start, once starts are on time again. */
const MARGIN_STEP = 0.0001;

/** A bucket nobody has drawn from yet. */
export function newBucket(limit: number, now: number): BucketState {
  return {
    ring: fullRing(limit, now),
    margin: 0,
    backpressure: 0,
    backpressureAt: now,
    guard: 0,
    guardAt: now,
    turns: [],
  };
}

/** Part of a second that is added to each window of a bucket. */
function marginOf(bucket: Omit<BucketState, 'ring' | 'turns'>, now: number): number {
  const { margin, backpressure, backpressureAt, guard, guardAt } = bucket;
  return (
    margin + recovered(refusedCalls, guard, guardAt, now) + recovered(queuedCalls, backpressure, backpressureAt, now)
  );
}

/**
 * A call that counts against the bucket was refused for its rate. The window grows where the last `limit` units lie within one: then
 * our own calls came too close together on their way. Where they are further apart the limit was used by others, and a wider
 * window would mend nothing.
 */
export function refused({ bucket, limit }: LimitedBucket, now: number): void {
  const { ring, guard, guardAt } = bucket;
  const [oldest, newest] = [ring[ring.length - limit], ring.at(-1)];
  if (oldest === undefined || newest === undefined) return;
  if (newest - oldest > 1000 * (1 + marginOf(bucket, now))) return;
  bucket.guard = widened(refusedCalls, guard, guardAt, now, 1);
  bucket.guardAt = now;
}

/** What a bucket shows of itself. */
export function bucketView(bucket: RateBucket, state: Omit<BucketState, 'turns'>, now: number): BucketView {
  return {
    name: bucket.name,
    qps: bucket.qps,
    effectiveQps: limitOf(bucket) / (1 + marginOf(state, now)),
    used: state.ring.filter((time) => time > now - 1000 && time <= now).length,
  };
}

/** Whether somebody may still come for its turn. */
export function stillWaits({ due }: QueueEntry, now: number): boolean {
  return due + GRACE_MS >= now;
}

interface LimitedBucket {
  readonly bucket: BucketState;
  readonly limit: number;
}

/** A bucket as one ask finds it: who waits before the asker and who behind. */
interface BucketQueue extends LimitedBucket {
  before: readonly QueueEntry[];
  readonly own: QueueEntry | null;
  readonly behind: readonly QueueEntry[];
}

/**
 * Asks for starts on every bucket that a call counts against. Books what may start within the next 250 ms; for the rest it keeps
 * the asker's turn on the bucket that holds it back, and says when to come again. Nobody is passed by, save a heavy call by
 * single units that fit before it; those who don't come when they said lose their turn. Who shares a bucket gets one start a
 * turn, and a few where all are behind.
 *
 * PostgreSQL has the same function in SQL; one table of cases holds both to the rule.
 */
export function ask(drawnFrom: readonly LimitedBucket[], now: number, blockedUntil: number, asked: Asked): Answered {
  const { who, weight, count } = asked;
  if (weight <= 0) {
    const free = blockedUntil <= now;
    return { starts: free ? new Array<number>(count).fill(now) : [], comeAt: free ? now : blockedUntil };
  }
  const queues = drawnFrom.map((one) => enter(one, now, asked));
  const from = Math.max(now, blockedUntil);
  const most = Math.min(count, ...queues.map(batchOf));
  const starts: number[] = [];
  for (;;) {
    const chances = queues.map((queue) => chance(queue, queue.before, from, weight));
    const start = Math.max(from, ...chances.map((one) => one.start));
    if (starts.length === most || start > now + GRANT_AHEAD_MS || !chances.every(({ first }) => first)) break;
    for (const queue of queues) {
      queue.before = queue.before.map((turn) => ({ ...turn, passed: turn.passed + 1 }));
      book(queue.bucket.ring, queue.limit, start, weight);
      queue.bucket.margin = Math.max(asked.margin, queue.bucket.margin - MARGIN_STEP);
    }
    starts.push(start);
  }

  // Whoever got something goes behind all others.
  const served = starts.length > 0;
  const waiting = count - starts.length;
  const chances = queues.map((queue) => {
    const ahead = served ? [...queue.before, ...queue.behind] : queue.before;
    return { queue, ahead, ...chance(queue, ahead, from, weight) };
  });
  const start = Math.max(from, ...chances.map((one) => one.start));
  const first = chances.every((one) => one.first);
  const comeAt = first ? start - GRANT_AHEAD_MS : Math.max(start - GRANT_AHEAD_MS, now + AGAIN_MS);
  for (const { queue, ahead, start: own } of chances) {
    const turn = { who, weight, passed: queue.own?.passed ?? 0, due: comeAt, waiting };
    const mine = waiting > 0 && own === start ? [turn] : [];
    queue.bucket.turns = [...ahead, ...mine, ...(served ? [] : queue.behind)];
  }
  return { starts, comeAt };
}

function enter({ bucket, limit }: LimitedBucket, now: number, { who, margin, queued }: Asked): BucketQueue {
  resize(bucket.ring, limit, now);
  bucket.margin = Math.max(margin, bucket.margin);
  if (queued > 0) {
    bucket.backpressure = widened(queuedCalls, bucket.backpressure, bucket.backpressureAt, now, queued);
    bucket.backpressureAt = now;
  }
  const turns = bucket.turns.filter((turn) => stillWaits(turn, now));
  const at = turns.findIndex((turn) => turn.who === who);
  if (at < 0) return { bucket, limit, before: turns, own: null, behind: [] };
  return { bucket, limit, before: turns.slice(0, at), own: turns[at] ?? null, behind: turns.slice(at + 1) };
}

/** How many starts one may take in a turn: alone all, else a fair part of what comes due within 250 ms. */
function batchOf({ limit, before, behind }: BucketQueue): number {
  const others = before.length + behind.length;
  return others === 0 ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(limit / (4 * (others + 1))));
}

/** When, not before `from`, a call could start on one bucket, and whether it may: all who are ahead of it let it pass. */
function chance({ bucket, limit }: LimitedBucket, turns: readonly QueueEntry[], from: number, weight: number) {
  const rule = { limit, margin: marginOf(bucket, from) };
  let units = 0;
  let calls = 0;
  for (const turn of turns) {
    const passable =
      calls === 0 &&
      weight === 1 &&
      turn.weight > 1 &&
      turn.passed < MAX_PASSED &&
      earliest(bucket.ring, rule, from, 1) < earliest(bucket.ring, rule, from, turn.weight);
    if (passable) continue;
    units += Math.min(turn.weight, limit);
    calls++;
  }
  return { start: earliest(bucket.ring, rule, from, weight, { calls, units }), first: calls === 0 };
}
