import type { JobPhase, PauseReason } from '../rows/job.js';
import type { StreamKey, Verification } from './event-warehouse.js';
import type { Span } from './walk-window.js';

/** Where events go when nobody says. */
export const DEFAULT_EVENT_WAREHOUSE = 'out/events.duckdb';

/** What the walks on events share: plain JSON, usable from any Temporal SDK. */
export interface EventWalkOptions {
  /** Warehouse: path of a DuckDB file, or address of a PostgreSQL database. Default {@link DEFAULT_EVENT_WAREHOUSE}. */
  readonly into?: string;
  /** Where workers on several machines share a store and the warehouse is a file: name of the machine that has the file. */
  readonly host?: string;
  /** Only events of these types (interface section 6.1); none: all. Other types are another stream, with marks of its own. */
  readonly types?: readonly string[];
  /** Windows walked at once; default 16. */
  readonly parallel?: number;
  /** Base URL of the service that is meant, or `sandbox`: workers on another one leave it alone. Default: any worker's. */
  readonly origin?: string;
}

/** Input of `syncEvents`: loads what has happened since it ran last. */
export interface SyncEventsInput extends EventWalkOptions {
  /** Ends instead of waiting for a person where the service refuses: a scheduled run, which the next one follows. */
  readonly scheduled?: boolean;
}

/** Input of `backfillEvents`: loads a stretch of time; a second time with the same input it goes on, or finds it done. */
export interface BackfillEventsInput extends EventWalkOptions {
  /** ISO 8601; included. Default: the beginning of everything. */
  readonly from?: string;
  /** ISO 8601; included. Default: a minute before the service's now. */
  readonly until?: string;
  /** Reads the stretch once more, whatever is loaded, compares by id and contents, and mends: see {@link Verification}. */
  readonly verify?: boolean;
  readonly scheduled?: boolean;
}

/** A sentence that says what is wrong with the stretch of a backfill; null where nothing is. */
export function stretchProblem({ from, until }: BackfillEventsInput): string | null {
  if (from === undefined || until === undefined || Date.parse(from) <= Date.parse(until)) return null;
  return `from must not be later than until (got ${from} and ${until}).`;
}

/** Input of a page walk: one of the fronts, and its own. */
export type WalkInput =
  | ({ readonly kind: 'sync' } & SyncEventsInput)
  | ({ readonly kind: 'backfill' } & BackfillEventsInput);

/** What a window is walked by: names the stream and its warehouse. */
export interface Walk extends StreamKey {
  readonly into: string;
  readonly host?: string;
  readonly types: readonly string[];
}

/** A run of a walk as it was opened. */
export interface OpenedWalk {
  readonly walk: Walk;
  /** Windows to be walked, by number. */
  readonly windows: readonly number[];
  /** They are of an earlier run that was not finished: when they are done, there may be more. */
  readonly continues: boolean;
  /** Length of the windows that have a beginning, and of those that are done, ms. */
  readonly lengthMs: number;
  readonly doneMs: number;
  /** Sums over what the windows of the run have brought so far: not this walk's. */
  readonly before: WalkCounts;
}

export interface WalkCounts {
  readonly pages: number;
  /** Events read, and how many of them were new, or newer than what was there. */
  readonly events: number;
  readonly added: number;
  readonly changed: number;
}

/** Input of the activity that walks one window. */
export interface WalkWindowInput {
  readonly walk: Walk;
  readonly window: number;
  /** Whether a heavy window is split: not where they are walked one after the other. */
  readonly splits: boolean;
}

export interface WalkWindowResult extends WalkCounts {
  /** False: time was up, or it was cancelled; the rest is walked from the last landed cursor. */
  readonly done: boolean;
  /** Windows that took its place. */
  readonly parts: readonly number[];
  /** Length of the window and of its parts, ms; 0 where a beginning is open. */
  readonly lengthMs: number;
  readonly partsMs: number;
}

/** Heartbeat details of a window that is walked. */
export interface WalkHeartbeat {
  readonly window: number;
  readonly pages: number;
  /** Events that this attempt has loaded, and how many of them were new, or newer than what was there. */
  readonly events?: number;
  readonly added?: number;
  readonly changed?: number;
  /** How much of the window lies behind the latest page, ms; absent where nobody can tell. */
  readonly coveredMs?: number;
  readonly waitingFor: string | null;
}

/** What the `progress` query of a walk answers. Times in Unix ms. */
export interface WalkProgress extends WalkCounts {
  readonly phase: JobPhase;
  readonly pausedFor: PauseReason | null;
  /** One sentence for a person: why it is paused or failed, and the way out. */
  readonly message: string | null;
  readonly stream: string;
  /** Windows of the run, so far as they are known, and those that are done. */
  readonly windows: number;
  readonly windowsDone: number;
  /** Part of the run's time whose windows are done, 0 to 1; null where nobody knows how much it is. */
  readonly share: number | null;
  /** All of that time, ms: with {@link WalkHeartbeat.coveredMs} the windows that are being walked count, too. */
  readonly lengthMs?: number;
  /** How much longer it takes at the rate of whole windows, ms; null where too few are done to tell. */
  readonly etaMs: number | null;
  readonly startedAt: number;
}

/** Result of a walk. */
export interface WalkSummary extends WalkCounts {
  readonly stream: string;
  readonly into: string;
  /** `stopped`: a scheduled run that the service refused; see `message`. */
  readonly phase: 'done' | 'stopped';
  readonly message: string | null;
  /** Everything up to here is loaded, as far as it could be seen; Unix ms. */
  readonly watermark: number | null;
  readonly windows: number;
  readonly seconds: number;
  /** What a verification found; null or absent for others. */
  readonly verified?: Verification | null;
}

const VERIFY = 'verify ';
const dated = (text: string | undefined) => (text === undefined ? '' : new Date(text).toISOString());

/** The stream that an input belongs to: the same input, the same marks. Throws `RangeError` for what is no date. */
export function streamOf(input: WalkInput): string {
  const types = [...new Set(input.types ?? [])].sort();
  const only = types.length === 0 ? '' : ` ${types.join(',')}`;
  if (input.kind === 'sync') return `sync${only}`;
  return `${input.verify ? VERIFY : 'backfill '}${dated(input.from)}..${dated(input.until)}${only}`;
}

/** The input that a stream belongs to: `streamOf` backwards. */
export function inputOfStream(stream: string): WalkInput {
  const [kind = '', ...rest] = stream.split(' ');
  const [stretch = '', only] = kind === 'sync' ? ['', rest[0]] : rest;
  const types = only === undefined ? {} : { types: only.split(',') };
  if (kind === 'sync') return { kind: 'sync', ...types };
  const [from = '', until = ''] = stretch.split('..');
  return {
    kind: 'backfill',
    ...(kind === VERIFY.trim() ? { verify: true } : {}),
    ...(from === '' ? {} : { from }),
    ...(until === '' ? {} : { until }),
    ...types,
  };
}

/** Whether a stream is a verification: what the service says now is right, and every event that is read is noted down. */
export function verifies({ stream }: Pick<StreamKey, 'stream'>): boolean {
  return stream.startsWith(VERIFY);
}

/** Length of a window in ms; 0 where its beginning is open. */
export function lengthOf({ from, to }: Span): number {
  return from === null ? 0 : to - from;
}
