/** A batch in two parts. Each part becomes a request of its own. */
export interface SplitBatch<U> {
  readonly first: readonly U[];
  readonly rest: readonly U[];
}

/**
 * Splits a batch that the service refused into halves. Returns null for a single unit, because then the service refused that unit itself.
 * `alone`: the first unit gets a request of its own, and the rest is split into halves. The single unit soon shows whether the service
 * refuses every unit; the halves show whether the service accepts some units.
 */
export function splitRefused<U>(batch: readonly U[], alone = false): readonly (readonly U[])[] | null {
  if (batch.length < 2) return null;
  const from = alone ? 1 : 0;
  const half = from + Math.ceil((batch.length - from) / 2);
  return [batch.slice(0, from), batch.slice(from, half), batch.slice(half)].filter((part) => part.length > 0);
}

/** Splits a batch that is over its budget: `first` has as many units as fit. Returns null if not even one unit fits. */
export function splitByBudget<U>(batch: readonly U[], fits: (units: readonly U[]) => boolean): SplitBatch<U> | null {
  let count = batch.length - 1;
  while (count > 0 && !fits(batch.slice(0, count))) count--;
  return count <= 0 ? null : { first: batch.slice(0, count), rest: batch.slice(count) };
}
