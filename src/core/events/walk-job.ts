import type { JobPhase, PauseReason } from '../rows/job-names.js';
import type { StreamKey, Verification } from './event-warehouse.js';
import type { Span } from './walk-window.js';

/** The default warehouse of events. */
export const DEFAULT_EVENT_WAREHOUSE = 'out/events.duckdb';

/**
 * Maximum number of windows of one walk in progress at once. Each window has one request in flight, and a worker has at most 256 requests
 * in flight.
 */
export const MOST_PARALLEL = 256;

/** Options of all event walks: plain JSON, usable from any Temporal SDK. */
export interface EventWalkOptions {
  /** Warehouse: path of a DuckDB file, or address of a PostgreSQL database. Default {@link DEFAULT_EVENT_WAREHOUSE}. */
  readonly into?: string;
  /** The machine that has the warehouse file, for workers on several machines. */
  readonly host?: string;
  /**
   * Event types to load (API reference: /websets/v0/events); default: all. Each list of types is a stream of its own with its own
   * watermark.
   */
  readonly types?: readonly string[];
  /** Number of windows in progress at once, 1 to 256; default 16. */
  readonly parallel?: number;
  /** Sends misspelt event types, too. Default: they are refused. */
  readonly unchecked?: boolean;
  /** Base URL of the service, or `sandbox`: only workers of that service run the walk. Default: any worker. */
  readonly origin?: string;
}

/** Input of `syncEvents`: loads the events since the last run of the same stream. */
export interface SyncEventsInput extends EventWalkOptions {
  /** If the service refuses, the walk ends as `stopped` instead of pausing; the next scheduled run continues. */
  readonly scheduled?: boolean;
}

/**
 * Input of `backfillEvents`: loads a range of time. Another run with the same input continues, or returns at once when the range is loaded.
 */
export interface BackfillEventsInput extends EventWalkOptions {
  /** ISO 8601; inclusive. Default: no beginning. */
  readonly from?: string;
  /** ISO 8601; inclusive. Default: one minute before the present time at the service. */
  readonly until?: string;
  /**
   * Reads the whole range again, compares the events with the warehouse by id and contents, and corrects differences: see {@link
   * Verification}.
   */
  readonly verify?: boolean;
  readonly scheduled?: boolean;
}

/** Returns the problem of a backfill's range; null where there is none. */
export function stretchProblem({ from, until }: BackfillEventsInput): string | null {
  if (from === undefined || until === undefined || Date.parse(from) <= Date.parse(until)) return null;
  return `from must not be later than until (got ${from} and ${until}).`;
}

/** Input of a walk, for either workflow. */
export type WalkInput =
  | ({ readonly kind: 'sync' } & SyncEventsInput)
  | ({ readonly kind: 'backfill' } & BackfillEventsInput);

/** The stream that is walked, and its warehouse. */
export interface Walk extends StreamKey {
  readonly into: string;
  readonly host?: string;
  readonly types: readonly string[];
}

/** An opened run of a walk. */
export interface OpenedWalk {
  readonly walk: Walk;
  /** Numbers of the windows to walk. */
  readonly windows: readonly number[];
  /** Whether the windows belong to an earlier, unfinished run: there may be newer events after these windows. */
  readonly continues: boolean;
  /** Counts of the run at the time when this walk opened the run. */
  readonly lengthMs: number;
  readonly doneMs: number;
  /** Counts of the run's windows before this walk. */
  readonly before: WalkCounts;
}

export interface WalkCounts {
  readonly pages: number;
  /** Number of events that were read. `added`: new events among these. `changed`: events that replaced an older stored version. */
  readonly events: number;
  readonly added: number;
  readonly changed: number;
}

/** Input of the activity that walks one window. */
export interface WalkWindowInput {
  readonly walk: Walk;
  readonly window: number;
  /** Whether a window with many events is split. False if windows are walked one at a time. */
  readonly splits: boolean;
}

export interface WalkWindowResult extends WalkCounts {
  /** False: the time was up or the walk was cancelled. The rest of the window is walked later, from the last landed cursor. */
  readonly done: boolean;
  /** Numbers of the windows that replaced this window. */
  readonly parts: readonly number[];
  /** Length of the window in ms, and total length of the parts in ms; 0 for a window without a beginning. */
  readonly lengthMs: number;
  readonly partsMs: number;
}

/** Heartbeat details of a window in progress. */
export interface WalkHeartbeat {
  readonly window: number;
  readonly pages: number;
  /**
   * Number of events that this attempt has loaded. `added`: new events among these. `changed`: events that replaced an older stored
   * version.
   */
  readonly events?: number;
  readonly added?: number;
  readonly changed?: number;
  /** Length in ms of the part of the window that has been read; absent if unknown. */
  readonly coveredMs?: number;
  readonly waitingFor: string | null;
}

/** Answer of a walk's `progress` query. Times in Unix ms. */
export interface WalkProgress extends WalkCounts {
  readonly phase: JobPhase;
  readonly pausedFor: PauseReason | null;
  /** Why the walk is paused or failed, and how to resume the walk; one sentence. */
  readonly message: string | null;
  readonly stream: string;
  /** Number of windows of the run known so far. `windowsDone`: the number of these windows that are done. */
  readonly windows: number;
  readonly windowsDone: number;
  /** Share of the run's range in windows that are done, 0 to 1; null if the length of the range is unknown. */
  readonly share: number | null;
  /** Length of the run's range, in ms. A client adds {@link WalkHeartbeat.coveredMs} to count windows in progress, too. */
  readonly lengthMs?: number;
  /** Estimated remaining time, in ms; null while too few windows are done. */
  readonly etaMs: number | null;
  readonly startedAt: number;
}

/** Result of a walk. */
export interface WalkSummary extends WalkCounts {
  readonly stream: string;
  readonly into: string;
  /** `stopped`: the service refused a scheduled run; see `message`. */
  readonly phase: 'done' | 'stopped';
  readonly message: string | null;
  /** Unix ms; all visible events up to this time are loaded. */
  readonly watermark: number | null;
  readonly windows: number;
  readonly seconds: number;
  /** The result of a verification; null or absent for other walks. */
  readonly verified?: Verification | null;
}

const VERIFY = 'verify ';
const dated = (text: string | undefined) => (text === undefined ? '' : new Date(text).toISOString());

/** Returns the stream of an input; equal inputs have the same stream. Throws `RangeError` for an invalid date. */
export function streamOf(input: WalkInput): string {
  const types = [...new Set(input.types ?? [])].sort();
  const only = types.length === 0 ? '' : ` ${types.join(',')}`;
  if (input.kind === 'sync') return `sync${only}`;
  return `${input.verify ? VERIFY : 'backfill '}${dated(input.from)}..${dated(input.until)}${only}`;
}

/** Returns the input of a stream: the inverse of `streamOf`. */
export function inputOfStream(stream: string): WalkInput {
  const [kind = '', ...rest] = stream.split(' ');
  const [range = '', only] = kind === 'sync' ? ['', rest[0]] : rest;
  // The types were checked when the stream began.
  const types = only === undefined ? {} : { types: only.split(','), unchecked: true };
  if (kind === 'sync') return { kind: 'sync', ...types };
  const [from = '', until = ''] = range.split('..');
  return {
    kind: 'backfill',
    ...(kind === VERIFY.trim() ? { verify: true } : {}),
    ...(from === '' ? {} : { from }),
    ...(until === '' ? {} : { until }),
    ...types,
  };
}

/**
 * Whether a stream is a verification. A verification replaces loaded contents by the contents at the service, and records every event that
 * it reads.
 */
export function verifies({ stream }: Pick<StreamKey, 'stream'>): boolean {
  return stream.startsWith(VERIFY);
}

/** Length of a window in ms; 0 for a window without a beginning. */
export function lengthOf({ from, to }: Span): number {
  return from === null ? 0 : to - from;
}
