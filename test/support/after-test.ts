import { onTestFinished } from 'vitest';

/** Closes these after the current test, the last one first. */
export function closeAfterTest(...opened: readonly { close(): unknown }[]): void {
  for (const one of opened) onTestFinished(async () => void (await one.close()));
}
