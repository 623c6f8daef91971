import { some } from '../text/amounts.js';

/** Singular and plural of a unit, by operation. */
const words: Readonly<Record<string, readonly [one: string, many: string]>> = {
  contents: ['URL', 'URLs'],
  search: ['search', 'searches'],
  answer: ['answer', 'answers'],
  agent: ['agent run', 'agent runs'],
};

/** Returns a number with its noun, such as `3,470 searches` or `1 URL`. */
export function someOf(amount: number, operation: string): string {
  const [one, many] = words[operation] ?? ['unit', 'units'];
  return some(amount, one, many);
}

/** Returns the plural of a unit, such as `searches`. */
export function manyOf(operation: string): string {
  return words[operation]?.[1] ?? 'units';
}
