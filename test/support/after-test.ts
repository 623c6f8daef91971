import { onTestFinished } from 'vitest';
import { type Closable, end } from './of-file.js';

/** Ends these after the current test, the last one first. */
export function closeAfterTest(...opened: readonly Closable[]): void {
  for (const one of opened) onTestFinished(async () => void (await end(one)));
}
