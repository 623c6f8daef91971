import { setFlagsFromString } from 'node:v8';

/**
 * Settings of memory for a process that is ours alone, such as a command. In a process of the user they are the user's decision: they hold
 * for all code of the process.
 */

/** Growth of the heap, in percent of its live objects, after which V8 collects garbage. V8's own choice is up to three times as much. */
const HEAP_GROWTH_PERCENT = 140;

/**
 * DuckDB's allocator with one arena, which returns free pages after a tenth of a second. By default each thread of Node's pool has an arena of
 * its own, which keeps its free pages for seconds.
 */
const DUCKDB_ALLOCATOR = 'narenas:1,dirty_decay_ms:100,muzzy_decay_ms:0';

/** Lets DuckDB return free memory early. Has no effect once DuckDB is loaded. A setting of the user stays. */
export function limitDuckDbMemory(env: NodeJS.ProcessEnv): void {
  env.DUCKDB_JE_MALLOC_CONF ??= DUCKDB_ALLOCATOR;
}

let newSpaceStaysSmall = false;

/**
 * Keeps the space of new objects at its present size. For work that makes few objects, such as walks, whose pages are not parsed. V8 ends this
 * when a thread begins; `limitHeapGrowth` sets it again.
 */
export function keepNewSpaceSmall(): void {
  newSpaceStaysSmall = true;
  setFlagsFromString('--semi-space-growth-factor=1');
}

/**
 * Lets V8 collect garbage early. Called when the threads of this process run. During the start this would take time, and free little: most
 * objects of the start stay.
 */
export function limitHeapGrowth(): void {
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
  if (newSpaceStaysSmall) keepNewSpaceSmall();
}
