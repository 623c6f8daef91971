/** Length of a block after a 429 that names no wait, in ms: about a tenth of a second, doubled with each consecutive refusal. */
export function blockMs(tries: number, random: number): number {
  return backoffMs(tries, 100, 60_000, random);
}

/** A delay that doubles with each attempt (from 0), with jitter of a quarter either way. `random` is in [0, 1). */
export function backoffMs(attempt: number, baseMs: number, maxMs: number, random: number): number {
  const plain = Math.min(maxMs, baseMs * 2 ** Math.min(attempt, 30));
  return Math.round(plain * (0.75 + random / 2));
}
