/** A process that holds less keeps what it has. */
const LARGE_PROCESS_MB = 440;
const WORTH_GIVING_BACK_MB = 40;

/** What the process held when memory was last given back. */
let heldThen = 0;

/**
 * Whether the allocators of this process should give back what they hold free: after statements on several threads that is some 60 MB.
 * DuckDB does so, for its own allocator and for the C library's, when its limit is set. Not for less than `WORTH_GIVING_BACK_MB`,
 * since it takes some 10 ms.
 */
export function worthGivingBack(): boolean {
  const held = process.memoryUsage.rss() / 1_048_576;
  if (held < LARGE_PROCESS_MB) heldThen = 0;
  if (held < Math.max(LARGE_PROCESS_MB, heldThen + WORTH_GIVING_BACK_MB)) return false;
  heldThen = held;
  return true;
}
