/** A process with less memory than this releases nothing. */
const LARGE_PROCESS_MB = 400;
const WORTH_GIVING_BACK_MB = 20;

/** Memory of the process at the last release. */
let heldThen = 0;

/**
 * Whether this process should now release the free memory of its allocators, which is some 60 MB after statements on several threads.
 * Setting DuckDB's memory limit releases this memory. A release takes some 10 ms, so it must free at least `WORTH_GIVING_BACK_MB`.
 */
export function worthGivingBack(): boolean {
  const held = process.memoryUsage.rss() / 1_048_576;
  if (held < LARGE_PROCESS_MB) heldThen = 0;
  if (held < Math.max(LARGE_PROCESS_MB, heldThen + WORTH_GIVING_BACK_MB)) return false;
  heldThen = held;
  return true;
}
