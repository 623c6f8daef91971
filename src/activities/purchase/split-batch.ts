/** A batch in two parts. Each part becomes a request of its own. */
export interface SplitBatch<U> {
  readonly first: readonly U[];
  readonly rest: readonly U[];
}

/**
 * Splits a batch that the service refused into halves. Returns null for a single unit, which is then the refused one. `alone`: the first
 * part is only the first unit. This shows soon whether the service refuses every unit.
 */
export function splitRefused<U>(batch: readonly U[], alone = false): SplitBatch<U> | null {
  if (batch.length < 2) return null;
  const half = alone ? 1 : Math.ceil(batch.length / 2);
  return { first: batch.slice(0, half), rest: batch.slice(half) };
}

/** Splits a batch that is over its budget: `first` has as many units as fit. Returns null if not even one unit fits. */
export function splitByBudget<U>(batch: readonly U[], fits: (units: readonly U[]) => boolean): SplitBatch<U> | null {
  let count = batch.length - 1;
  while (count > 0 && !fits(batch.slice(0, count))) count--;
  return count <= 0 ? null : { first: batch.slice(0, count), rest: batch.slice(count) };
}
