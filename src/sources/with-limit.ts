import type { DuckDBConnection } from '@duckdb/node-api';
import { CsvError } from '../rows/index.js';

/** Bounds of a step of DuckDB. */
export interface StepLimits {
  /** Time in ms. */
  readonly limitMs: number;
  /** Its abort ends the step. */
  readonly signal: AbortSignal | undefined;
}

/** DuckDB forgets an interrupt that comes before a step begins, so the interrupt is repeated. */
const REPEAT_MS = 50;

/** Waits for a step of DuckDB. Interrupts the step at the end of the time, and when the signal is aborted; then throws its reason. */
export async function withLimit<T>(
  connection: DuckDBConnection,
  work: Promise<T>,
  { limitMs, signal }: StepLimits,
): Promise<T> {
  let isOver = false;
  let repeated: NodeJS.Timeout | undefined;
  const interrupt = () => {
    connection.interrupt();
    repeated ??= setInterval(() => connection.interrupt(), REPEAT_MS);
  };
  const timer = setTimeout(() => {
    isOver = true;
    interrupt();
  }, limitMs);
  if (signal?.aborted) interrupt();
  else signal?.addEventListener('abort', interrupt, { once: true });
  try {
    const result = await work;
    signal?.throwIfAborted();
    return result;
  } catch (error) {
    signal?.throwIfAborted();
    if (!isOver) throw error;
    throw new CsvError(
      'sql-too-slow',
      `The query returned no row for ${Math.round(limitMs / 1000)} s and was stopped: make it faster, for example with a WHERE; nothing was bought`,
    );
  } finally {
    clearTimeout(timer);
    clearInterval(repeated);
    signal?.removeEventListener('abort', interrupt);
  }
}
