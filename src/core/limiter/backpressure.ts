/** How the part of a second that is added to each window grows with each sign of overload and shrinks again. */
interface Widening {
  readonly step: number;
  readonly most: number;
  /** Time in which the largest amount shrinks to 0 without further signs. */
  readonly recoveryMs: number;
}

/**
 * A call waited in the service's own queue: our calls are too close to the service's limit. With the largest amount and the margins, about
 * four fifths of the limit are used.
 */
export const queuedCalls: Widening = { step: 0.01, most: 0.24, recoveryMs: 30_000 };

/**
 * A call within the limit was refused: the network shifts calls by more than the margin. A refusal blocks all callers for a second, so
 * the amount shrinks over minutes.
 */
export const refusedCalls: Widening = { step: 0.0075, most: 0.03, recoveryMs: 1_800_000 };

/** The present amount, from the amount that was recorded at `since`. */
export function recovered({ most, recoveryMs }: Widening, amount: number, since: number, now: number): number {
  return Math.max(0, amount - (Math.max(0, now - since) * most) / recoveryMs);
}

/** The amount after further signs. */
export function widened(rule: Widening, amount: number, since: number, now: number, signs: number): number {
  return Math.min(rule.most, recovered(rule, amount, since, now) + rule.step * signs);
}
