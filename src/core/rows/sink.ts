import type { Json } from '../text/json.js';
import { nearest } from '../text/nearest.js';

/** The name of the sink that a value of `into` names, such as `sink:snowflake`; null for a warehouse. */
export const sinkOf = (into: string): string | null => /^sink:(.*)$/s.exec(into)?.[1] ?? null;

export interface SinkColumn {
  readonly name: string;
  /**
   * `text`, `integer`, `number`, `boolean`, `date` (`2026-01-31`), `time` (`2026-01-31T12:00:00.000Z`, UTC), `json`, `array` or `object`; for an
   * input with types its type in DuckDB, such as `BIGINT`, whose values are canonical texts where JSON would round them. May be null.
   */
  readonly type: string;
}

/** A row of a batch: its values by the names of the columns. */
export type SinkRow = Readonly<Record<string, Json>>;

/** Landed rows for a sink. The same `batchId` always has the same rows, in the same order. */
export interface SinkBatch {
  /** Id of the row job, such as `brands-3f9a1c`; name of the stream of events, such as `sync`; `monitors` for runs of monitors. */
  readonly job: string;
  /** `rows`, `events` or `monitor_runs`. */
  readonly table: 'rows' | 'events' | 'monitor_runs';
  /** Identifies the batch in all jobs. */
  readonly batchId: string;
  readonly columns: readonly SinkColumn[];
  /** At least one row. A row that is bought again, or an event or run that has changed, comes once more in a later batch. */
  readonly rows: readonly SinkRow[];
}

/** A place of the owner's that rows of jobs are loaded into, instead of a warehouse. */
export interface Sink {
  /**
   * Loads a batch, and resolves when its rows are durable. It gets each batch at least once: after a kill or an error it gets the batch again,
   * also in another worker, so it must load a `batchId` once. Batches come in any order, and several at the same time. An error is
   * retried up to ten times, after 1 second up to 1 minute; then the job fails, and its next run continues with the batch. `signal`
   * aborts when the time is up, and when the activity is cancelled; the batch then comes again.
   */
  load(batch: SinkBatch, context: { readonly signal: AbortSignal }): Promise<void>;
  /** Time limit of one `load` in seconds, 1 to 1500. Default: 300. */
  readonly timeoutSeconds?: number;
}

/** The sinks of a worker, by their names. */
export type Sinks = Readonly<Record<string, Sink>>;

/** Why a worker cannot load into the sink that `into` names, in a sentence; null if it can, and for a warehouse. */
export function whyNoSink(into: string, sinks: Sinks = {}): string | null {
  const name = sinkOf(into);
  if (name === null || Object.hasOwn(sinks, name)) return null;
  const names = Object.keys(sinks);
  const near = nearest(name, names);
  const rest = near === null ? 'Pass it in the option sinks of SearchflowPlugin' : `Did you mean sink:${near}?`;
  const others = near === null && names.length > 0 ? ` (it has ${names.join(', ')})` : '';
  return `into: this worker has no sink ${/^[\w-]{1,60}$/.test(name) ? name : '(name not shown)'}${others}. ${rest}`;
}
