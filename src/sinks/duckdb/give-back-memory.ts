import type { DuckDBConnection } from '@duckdb/node-api';

/** A process that holds less keeps what it has. */
const LARGE_PROCESS_MB = 440;
const WORTH_GIVING_BACK_MB = 40;

/** What the process held when memory was last given back. */
let heldThen = 0;

/**
 * What allocators hold free of a large process is given back to the system: after statements on several threads that is some 60 MB.
 * DuckDB does so, for its own allocator and for the C library's, when its limit is set, be it to what it is. Not for less than
 * `WORTH_GIVING_BACK_MB`, since it takes some 10 ms.
 */
export async function giveBackMemory(connection: DuckDBConnection): Promise<void> {
  const held = heldMb();
  if (held < LARGE_PROCESS_MB) heldThen = 0;
  if (held < Math.max(LARGE_PROCESS_MB, heldThen + WORTH_GIVING_BACK_MB)) return;
  await connection.run("SET GLOBAL memory_limit = current_setting('memory_limit')").catch(() => undefined);
  heldThen = heldMb();
}

const heldMb = () => process.memoryUsage.rss() / 1_048_576;
