/**
 * The ring of a rate limit: the start times of the last units in milliseconds, oldest first. A unit may start one second (and a
 * margin) after the one that started `limit` units before it, so no sliding second ever holds more than `limit` units, whatever
 * their weights; a token bucket or GCRA can't promise that and still use the limit.
 *
 * Pure: the clock is the caller's. PostgreSQL has the same functions in SQL; one table of cases holds both to the rule.
 */
export type Ring = number[];

export interface RingRule {
  /** Units a second. */
  readonly limit: number;
  /** Part of a second added to each window, against jitter on the way to the service. */
  readonly margin: number;
}

/** What goes before a call. */
export interface Ahead {
  readonly calls: number;
  readonly units: number;
}

const nobody: Ahead = { calls: 0, units: 0 };

/** Smallest time between two starts: spreads a burst, and is short enough to catch up after a late one. */
const GAP = 0.6;
/** The clock went back where a start lies further ahead than this. */
const FAR_MS = 1000;

/** A ring that holds back for a full window: whoever ran before may have used all of it just now. */
export function fullRing(limit: number, now: number): Ring {
  return new Array<number>(limit).fill(now);
}

/**
 * Makes the ring fit a limit and a clock. What was before its first unit is unknown, so for a larger limit it is taken as full of
 * units that started with that one. It stays longer than the limit while somebody may still ask for the larger one.
 */
export function resize(ring: Ring, limit: number, now: number): void {
  if ((ring.at(-1) ?? now) > now + FAR_MS) for (const [at, time] of ring.entries()) ring[at] = Math.min(time, now);
  const first = ring[0] ?? now;
  while (ring.length < limit) ring.unshift(first);
  while (ring.length > limit && (ring[1] as number) < now - 2 * FAR_MS) ring.shift();
}

/**
 * The earliest start of a call of `weight` units, in the clock of `now`; behind others that have not started it is an estimate.
 * Changes nothing. A call heavier than the whole limit takes all of it, else it could never start.
 */
export function earliest(ring: Ring, rule: RingRule, now: number, weight: number, ahead: Ahead = nobody): number {
  if (weight <= 0) return now;
  const before = Math.min(weight, rule.limit) + ahead.units - 1;
  const oldest = ring.length - rule.limit;
  const window = 1000 * (1 + rule.margin);
  const gap = (GAP * 1000) / rule.limit;
  const freed = (ring[oldest + (before % rule.limit)] as number) + window * (1 + Math.floor(before / rule.limit));
  const next = Math.max(now, (ring[oldest] as number) + window, (ring[ring.length - 1] as number) + gap);
  return Math.max(freed, next + gap * ahead.calls);
}

/** Books a call of `weight` units at `start`; `start` comes from {@link earliest}. */
export function book(ring: Ring, limit: number, start: number, weight: number): void {
  for (let unit = 0; unit < Math.min(weight, limit); unit++) {
    ring.shift();
    ring.push(start);
  }
}

/**
 * Writes a late start back: units planned for `planned` really started at `actual`. Units granted since that were planned
 * earlier than `actual` move before them, so the ring stays in order.
 */
export function late(ring: Ring, planned: number, actual: number, weight: number): void {
  for (let unit = 0; unit < weight; unit++) {
    const at = ring.lastIndexOf(planned);
    if (at < 0) return;
    ring.splice(at, 1);
    let place = ring.length;
    while (place > at && (ring[place - 1] as number) > actual) place--;
    ring.splice(place, 0, actual);
  }
}
