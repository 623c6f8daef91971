import { onTestFinished } from 'vitest';
import { type Closable, end } from './of-file.js';

/** Ends these after the current test, the last one first. Returns the first one. */
export function closeAfterTest<T extends Closable>(first: T, ...others: readonly Closable[]): T {
  for (const one of [first, ...others]) onTestFinished(async () => void (await end(one)));
  return first;
}
