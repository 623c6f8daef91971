/** Dollars (as the wire gives them, interface section 2.2) to whole micro-dollars; `null` for what is no amount. */
export function toMicros(dollars: unknown): number | null {
  return typeof dollars === 'number' && Number.isFinite(dollars) && dollars >= 0 ? Math.round(dollars * 1e6) : null;
}

/** Micro-dollars to dollars, exact to six decimals. */
export function toDollars(micros: number): number {
  return micros / 1e6;
}

/** Splits a cost over `parts` units in whole micro-dollars; the first units take the remainder, the sum is exact. */
export function splitMicros(total: number, parts: number): number[] {
  if (parts <= 0) return [];
  const share = Math.floor(total / parts);
  const rest = total - share * parts;
  return Array.from({ length: parts }, (_, index) => share + (index < rest ? 1 : 0));
}
