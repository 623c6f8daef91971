import { setFlagsFromString } from 'node:v8';

/** Growth of the heap, in percent of its live objects, after which V8 collects garbage. V8's own choice is up to twice as much. */
const HEAP_GROWTH_PERCENT = 100;

/** Times in ms after which DuckDB returns free pages. Loads of rows follow each other within half a second, and use the same pages. */
const FREE_PAGES_MS = { rows: 500, walk: 100 };

/**
 * DuckDB's allocator with one arena. By default each thread of Node's pool has an arena of its own, which keeps its free pages for seconds.
 */
const allocator = (freePagesMs: number): string => `narenas:1,dirty_decay_ms:${freePagesMs},muzzy_decay_ms:0`;

/** Whether the settings of this process are ours. In a process of the user they are the user's decision: they hold for all of its code. */
let isCommand = false;
let isWalk = false;

/**
 * Declares that this process is a command, and lets DuckDB return free memory early. Has no effect on DuckDB once it is loaded. A setting of the
 * user stays.
 */
export function limitCommandMemory(env: NodeJS.ProcessEnv): void {
  isCommand = true;
  env.DUCKDB_JE_MALLOC_CONF ??= allocator(isWalk ? FREE_PAGES_MS.walk : FREE_PAGES_MS.rows);
}

/**
 * Declares that this process walks through pages, which are not parsed: it makes few objects, so their space stays at its present size. V8 ends
 * this when a thread begins; `limitHeapGrowth` sets it again.
 */
export function limitWalkMemory(): void {
  isWalk = true;
  setFlagsFromString('--semi-space-growth-factor=1');
}

/**
 * Lets V8 collect garbage early, in a command. Called when the threads of the process run. During the start this would take time, and free
 * little: most objects of the start stay.
 */
export function limitHeapGrowth(): void {
  if (!isCommand) return;
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
  if (isWalk) limitWalkMemory();
}
