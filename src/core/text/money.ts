/** The largest cap in dollars. Sums of such amounts are exact in micro-dollars. */
export const MOST_DOLLARS = 1_000_000_000;

export const priceMicros = (dollars: number): number => Math.round(dollars * 1e6);

/** Converts a dollar amount from an answer to whole micro-dollars; `null` for an invalid amount, also for one that no column holds. */
export function toMicros(dollars: unknown): number | null {
  return typeof dollars === 'number' && dollars >= 0 && dollars <= MOST_DOLLARS ? priceMicros(dollars) : null;
}

/** Reads `20`, `1.00` or `0.0005` dollars, with or without `$`, as whole micro-dollars; null for an invalid amount. */
export function parseDollars(text: string): number | null {
  const match = /^\$?(\d{1,9}(\.\d{1,6})?)$/.exec(text.trim());
  return match ? toMicros(Number(match[1])) : null;
}

/** Converts micro-dollars to dollars, exact to six decimals. */
export const toDollars = (micros: number): number => micros / 1e6;

const thousands = /\B(?=(\d{3})+$)/g;

/** Formats micro-dollars as dollars with two decimals, or up to six if the amount needs them. So no cost looks like zero. */
export function dollars(micros: number): string {
  const exact = toDollars(Math.abs(micros)).toFixed(6);
  const [whole = '0', decimals = ''] = exact.split('.');
  const kept = decimals.replace(/0+$/, '').padEnd(2, '0');
  return `${micros < 0 ? '-' : ''}$${whole.replace(thousands, ',')}.${kept}`;
}

/** Splits a cost over `parts` units in whole micro-dollars; the first units get the remainder, the sum is exact. */
export function splitMicros(total: number, parts: number): number[] {
  if (parts <= 0) return [];
  const share = Math.floor(total / parts);
  const rest = total - share * parts;
  return Array.from({ length: parts }, (_, index) => share + (index < rest ? 1 : 0));
}
