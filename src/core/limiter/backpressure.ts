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

/** The amount after further signs. */
export function widened(rule: Widening, amount: number, since: number, now: number, signs: number): number {
  return Math.min(rule.most, recovered(rule, amount, since, now) + rule.step * signs);
}
