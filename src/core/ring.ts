/**
 * The meter: a ring of the last N unit times. A unit may start one second (and a margin) after the oldest of them,
 * so no sliding second ever holds more than N units, whatever their weights; a token bucket or GCRA can't promise that
 * and still use the limit. Pure: the clock is the caller's, so memory and PostgreSQL share the same table of cases.
 */
export interface Ring {
  /** Start times of the last `limit` units in milliseconds, oldest at `head`. */
  readonly times: Float64Array;
  head: number;
  /** Planned start of the last grant. */
  last: number;
}

export interface RingRule {
  /** Units a second. */
  readonly limit: number;
  /** Part of a second kept free at the end of each window, against jitter on the way to the service. */
  readonly margin: number;
}

/** A ring that holds back for a full window: whoever ran before may have used all of it just now. */
export function fullRing(limit: number, now: number): Ring {
  return { times: new Float64Array(limit).fill(now), head: 0, last: Number.NEGATIVE_INFINITY };
}

/** Smallest time between two starts: spreads a burst, and is short enough to catch up after a late one. */
const GAP = 0.6;

/**
 * The earliest start of a call of `weight` units, in the clock of `now`. Changes nothing.
 * A call heavier than the whole limit takes all of it, else it could never start.
 */
export function earliest(ring: Ring, rule: RingRule, now: number, weight: number): number {
  if (weight <= 0) return now;
  const size = ring.times.length;
  const units = Math.min(weight, size);
  const freed = ring.times[(ring.head + units - 1) % size] as number;
  return Math.max(now, freed + 1000 * (1 + rule.margin), ring.last + (GAP * 1000) / rule.limit);
}

/** Books a call of `weight` units at `start`; `start` comes from {@link earliest}. */
export function book(ring: Ring, start: number, weight: number): void {
  if (weight <= 0) return;
  const size = ring.times.length;
  for (let unit = 0; unit < Math.min(weight, size); unit++) {
    ring.times[ring.head] = start;
    ring.head = (ring.head + 1) % size;
  }
  ring.last = start;
}

/**
 * Writes a late start back: units planned for `planned` really started at `actual`. Units granted since that were planned
 * earlier than `actual` move before them, so the ring stays in order.
 */
export function late(ring: Ring, planned: number, actual: number, weight: number): void {
  const size = ring.times.length;
  const at = (position: number) => (ring.head + position) % size;
  let left = Math.min(weight, size);
  for (let position = size - 1; position >= 0 && left > 0; position--) {
    if (ring.times[at(position)] !== planned) continue;
    let hole = position;
    while (hole + 1 < size && (ring.times[at(hole + 1)] as number) < actual) {
      ring.times[at(hole)] = ring.times[at(hole + 1)] as number;
      hole++;
    }
    ring.times[at(hole)] = actual;
    left--;
  }
  ring.last = Math.max(ring.last, actual);
}
