/**
 * The ring of a rate limit: the start times of the last units in milliseconds, oldest first. The start of a unit is at least one second
 * and a margin after the start of the unit that is `limit` places earlier. So no sliding second ever holds more than `limit` units of any
 * weight. A token bucket or GCRA cannot guarantee that and still use the whole limit.
 *
 * Pure: the caller passes the clock. PostgreSQL has the same functions in SQL; one table of cases tests both.
 */
export type Ring = number[];

export interface RingRule {
  /** Units a second. */
  readonly limit: number;
  /** Part of a second added to each window, against jitter in the network. */
  readonly margin: number;
}

/** Calls that wait before a call, and their units. */
export interface Ahead {
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
export function reserve(ring: Ring, limit: number, start: number, weight: number): void {
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
