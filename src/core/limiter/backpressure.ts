/** How a part of a second that is added to each window grows with each sign of trouble and goes back by itself. */
interface Widening {
  readonly step: number;
  readonly most: number;
  /** From the most to nothing, where no further sign comes. */
  readonly recoveryMs: number;
}

/**
 * An answer had waited in the service's own queue (public facts 1.2), a sign that we are close to its limit though within ours.
 * With the margins this leaves about four fifths of the limit.
 */
export const queuedCalls: Widening = { step: 0.01, most: 0.24, recoveryMs: 30_000 };

/**
 * A call was refused though we kept to the limit: the way to the service shifts calls by more than the margin. A refusal holds
 * everybody back for a second, so the way back takes minutes.
 */
export const refusedCalls: Widening = { step: 0.0075, most: 0.03, recoveryMs: 1_800_000 };

/** What is left now of an amount that was noted at `since`. */
export function recovered({ most, recoveryMs }: Widening, amount: number, since: number, now: number): number {
  return Math.max(0, amount - (Math.max(0, now - since) * most) / recoveryMs);
}

/** The amount after so many further signs. */
export function widened(rule: Widening, amount: number, since: number, now: number, signs: number): number {
  return Math.min(rule.most, recovered(rule, amount, since, now) + rule.step * signs);
}
