import type { BucketView } from './limiter.js';
import { GRANT_AHEAD_MS, type RateBucket, wholeUnits } from './rate.js';

/** An entry in the queue of a bucket: the waiting calls of one kind in one process. */
export interface QueueEntry {
  readonly who: string;
  readonly weight: number;
  /** The number of single units that have overtaken this entry. */
  readonly passed: number;
  /** The time when the entry's process asks again. An entry whose process does not ask by then is removed. */
  readonly due: number;
  /** Calls that wait in this entry. */
  readonly waiting: number;
}

/** The state of a bucket. Times are by the clock of its holder: a process or the database. */
export interface BucketState {
  readonly ring: Ring;
  margin: number;
  /** Part of a second added to each window after reports of queued calls. This part shrinks without further reports. */
  backpressure: number;
  backpressureAt: number;
  /** Part of a second added to each window after refused calls. This part shrinks without further refusals. */
  guard: number;
  guardAt: number;
  /** The queue, first come first served. */
  turns: readonly QueueEntry[];
}

export interface Asked {
  /** The name of the asker. The name stays the same until all calls of the asker have started. */
  readonly who: string;
  readonly weight: number;
  /** Number of waiting calls, all of the same weight. */
  readonly count: number;
  /** The margin for starts of the asker's process, see `RingRule`. */
  readonly margin: number;
  /** Number of calls that waited in the service's own queue since the asker last asked. */
  readonly queued: number;
}

export interface Answered {
  /** Start times of the calls that may start within the next 250 ms. */
  readonly starts: readonly number[];
  /** When to ask again for the other calls. */
  readonly comeAt: number;
}

/** Time in ms after the due time of an entry. After this time the entry is removed if its process has not asked. */
const GRACE_MS = 100;
/**
 * Longest time in ms until an entry is due: twice the longest time between two requests of an asker. An asker that left during a block does
 * not delay others after the block was lifted.
 */
const MOST_DUE_MS = 4000;
/** Shortest time in ms before a process asks again while an earlier entry is waiting. */
const AGAIN_MS = 20;
/** The number of times that single units may overtake a heavier call that waits for a wider gap. */
const MAX_PASSED = 3;
/** The amount by which a bucket's margin shrinks with each start, down to the margin of the process that asks. */
const MARGIN_STEP = 0.0001;

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
 * Records that a call of the bucket was refused for its rate. If the last `limit` units lie within one window, the network moved our own
 * calls too close together, and the window grows. Otherwise other clients used the limit, and a wider window would not help.
 */
export function noteRefused({ bucket, limit }: LimitedBucket, now: number): void {
  const { ring, guard, guardAt } = bucket;
  const [oldest, newest] = [ring[ring.length - limit], ring.at(-1)];
  if (oldest === undefined || newest === undefined) return;
  if (newest - oldest > 1000 * (1 + marginOf(bucket, now))) return;
  bucket.guard = widened(refusedCalls, guard, guardAt, now, 1);
  bucket.guardAt = now;
}

export function bucketView(bucket: RateBucket, state: Omit<BucketState, 'turns'>, now: number): BucketView {
  return {
    name: bucket.name,
    qps: bucket.qps,
    effectiveQps: wholeUnits(bucket) / (1 + marginOf(state, now)),
    used: state.ring.reduce((used, time) => used + (time > now - 1000 && time <= now ? 1 : 0), 0),
  };
}

/** Whether the process of an entry may still ask for its turn. */
export function stillWaits({ due }: QueueEntry, now: number): boolean {
  return due + GRACE_MS >= now;
}

interface LimitedBucket {
  readonly bucket: BucketState;
  readonly limit: number;
}

/** The queue of a bucket: the entries before the asker, its own entry, and the entries after it. */
interface BucketQueue extends LimitedBucket {
  before: readonly QueueEntry[];
  readonly own: QueueEntry | null;
  readonly after: readonly QueueEntry[];
}

/**
 * Asks for turns on every bucket that a call counts against. Reserves starts for calls that may start within the next 250 ms. For the
 * other calls, an entry is kept on the bucket that delays these calls, and the time to ask again is returned.
 *
 * Entries are served in their order. Single units may overtake a heavy call if they fit before it. Entries whose process does not ask in
 * time are removed. If several askers share a bucket, each gets an equal part of the starts of 250 ms, at least one.
 */
export function ask(buckets: readonly LimitedBucket[], now: number, blockedUntil: number, asked: Asked): Answered {
  const { who, weight, count } = asked;
  if (weight <= 0) {
    const free = blockedUntil <= now;
    return { starts: free ? new Array<number>(count).fill(now) : [], comeAt: free ? now : blockedUntil };
  }
  const queues = buckets.map((one) => enter(one, now, asked));
  const from = Math.max(now, blockedUntil);
  const most = Math.min(count, ...queues.map(batchOf));
  const starts: number[] = [];
  for (;;) {
    const chances = queues.map((queue) => chance(queue, queue.before, from, weight));
    const start = Math.max(from, ...chances.map((one) => one.start));
    if (starts.length === most || start > now + GRANT_AHEAD_MS || !chances.every(({ first }) => first)) break;
    for (const queue of queues) {
      queue.before = queue.before.map((turn) => ({ ...turn, passed: turn.passed + 1 }));
      recordStart(queue.bucket.ring, queue.limit, start, weight);
      queue.bucket.margin = Math.max(asked.margin, queue.bucket.margin - MARGIN_STEP);
    }
    starts.push(start);
  }

  // An asker that was served moves to the end of the queue.
  const served = starts.length > 0;
  const waiting = count - starts.length;
  const chances = queues.map((queue) => {
    const ahead = served ? [...queue.before, ...queue.after] : queue.before;
    return { queue, ahead, ...chance(queue, ahead, from, weight) };
  });
  const start = Math.max(from, ...chances.map((one) => one.start));
  const first = chances.every((one) => one.first);
  const comeAt = first ? start - GRANT_AHEAD_MS : Math.max(start - GRANT_AHEAD_MS, now + AGAIN_MS);
  for (const { queue, ahead, start: own } of chances) {
    const turn = { who, weight, passed: queue.own?.passed ?? 0, due: Math.min(comeAt, now + MOST_DUE_MS), waiting };
    const mine = waiting > 0 && own === start ? [turn] : [];
    queue.bucket.turns = [...ahead, ...mine, ...(served ? [] : queue.after)];
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
  if (at < 0) return { bucket, limit, before: turns, own: null, after: [] };
  return { bucket, limit, before: turns.slice(0, at), own: turns[at] ?? null, after: turns.slice(at + 1) };
}

/**
 * Maximum number of starts for one request for turns: all starts for a single asker, otherwise an equal part of the starts within 250 ms.
 */
function batchOf({ limit, before, after }: BucketQueue): number {
  const others = before.length + after.length;
  return others === 0 ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(limit / (4 * (others + 1))));
}

/** The earliest start of a call on one bucket, not before `from`. `first`: whether the call may overtake all entries before it. */
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

/**
 * The rule for an amount that is added to each window, as a part of a second. Each sign of overload increases the amount; without further
 * signs, the amount shrinks.
 */
interface Widening {
  readonly step: number;
  readonly most: number;
  /** Time in which the largest amount shrinks to 0 without further signs. */
  readonly recoveryMs: number;
}

/**
 * Rule for calls that waited in the service's own queue, which shows that our rate is too close to the service's limit. With the largest
 * amount and the margins, calls use about four fifths of the limit.
 */
export const queuedCalls: Widening = { step: 0.01, most: 0.24, recoveryMs: 30_000 };

/**
 * Rule for calls that were refused within the limit, because the network shifted the times of the calls by more than the margin. A refusal
 * blocks all callers for a second, so the amount shrinks over minutes.
 */
export const refusedCalls: Widening = { step: 0.0075, most: 0.03, recoveryMs: 1_800_000 };

/** The present amount, from the amount that was recorded at `since`. */
export function recovered({ most, recoveryMs }: Widening, amount: number, since: number, now: number): number {
  return Math.max(0, amount - (Math.max(0, now - since) * most) / recoveryMs);
}

export function widened(rule: Widening, amount: number, since: number, now: number, signs: number): number {
  return Math.min(rule.most, recovered(rule, amount, since, now) + rule.step * signs);
}

/**
 * The ring of a rate limit: the start times of the last units in milliseconds, oldest first. The start of a unit is at least one second
 * and a margin after the start of the unit that is `limit` places earlier. So no sliding second ever holds more than `limit` units of any
 * weight. A token bucket or GCRA cannot guarantee that and still use the whole limit.
 *
 * Pure: the caller passes the clock.
 */
export type Ring = number[];

interface RingRule {
  /** Units a second. */
  readonly limit: number;
  /** Part of a second added to each window, against jitter in the network. */
  readonly margin: number;
}

/** Calls that wait before a call, and their units. */
interface Ahead {
  readonly calls: number;
  readonly units: number;
}

const none: Ahead = { calls: 0, units: 0 };

/**
 * Smallest time between two starts, as a part of the time between evenly spread starts. This gap spreads a burst, but leaves time to make
 * up for a late start.
 */
const GAP = 0.6;
/** A start further ahead than this, in ms, shows that the clock was put back. */
const FAR_MS = 1000;

/** A ring that allows no start for a full window, because an earlier process may just have used the whole limit. */
export function fullRing(limit: number, now: number): Ring {
  return new Array<number>(limit).fill(now);
}

/**
 * Adapts the ring to a limit and a clock. For a larger limit, the ring is filled with copies of its first start time, because earlier start
 * times are unknown. For a smaller limit, the ring stays longer while another process may still use the larger limit.
 */
export function resize(ring: Ring, limit: number, now: number): void {
  if ((ring.at(-1) ?? now) > now + FAR_MS) for (const [at, time] of ring.entries()) ring[at] = Math.min(time, now);
  const first = ring[0] ?? now;
  while (ring.length < limit) ring.unshift(first);
  while (ring.length > limit && (ring[1] as number) < now - 2 * FAR_MS) ring.shift();
}

/**
 * Returns the earliest start of a call of `weight` units, by the clock of `now`. If other calls wait before this call, the result is an
 * estimate. Changes nothing. A call heavier than the whole limit takes all of the limit; otherwise the call could never start.
 */
export function earliest(ring: Ring, rule: RingRule, now: number, weight: number, ahead: Ahead = none): number {
  if (weight <= 0) return now;
  const before = Math.min(weight, rule.limit) + ahead.units - 1;
  const oldest = ring.length - rule.limit;
  const window = 1000 * (1 + rule.margin);
  const gap = (GAP * 1000) / rule.limit;
  const freed = (ring[oldest + (before % rule.limit)] as number) + window * (1 + Math.floor(before / rule.limit));
  const next = Math.max(now, (ring[oldest] as number) + window, (ring[ring.length - 1] as number) + gap);
  return Math.max(freed, next + gap * ahead.calls);
}

/** Records a call of `weight` units at `start`; `start` comes from {@link earliest}. */
export function recordStart(ring: Ring, limit: number, start: number, weight: number): void {
  for (let unit = 0; unit < Math.min(weight, limit); unit++) {
    ring.shift();
    ring.push(start);
  }
}

/**
 * Records a late start: units planned for `planned` started at `actual`. Units that were granted later and planned before `actual` move
 * before the late units, so that the ring stays in order.
 */
export function late(ring: Ring, planned: number, actual: number, weight: number): void {
  for (let unit = 0; unit < weight; unit++) {
    const at = ring.lastIndexOf(planned);
    if (at < 0) return;
    ring.splice(at, 1);
    let to = ring.length;
    while (to > at && (ring[to - 1] as number) > actual) to--;
    ring.splice(to, 0, actual);
  }
}
