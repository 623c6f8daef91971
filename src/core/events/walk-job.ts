import type { BackfillEventsInput, SyncEventsInput } from '../workflow-input-schemas.js';
import type { WalkCounts } from '../workflow-result-schemas.js';
import type { StreamKey } from './event-warehouse.js';
import type { Span } from './walk-window.js';

export const DEFAULT_EVENT_WAREHOUSE = 'out/events.duckdb';

/** Returns the problem of a backfill's range; null where there is none. */
export function stretchProblem({ from, until }: BackfillEventsInput): string | null {
  if (from === undefined || until === undefined || Date.parse(from) <= Date.parse(until)) return null;
  return `from must not be later than until (got ${from} and ${until}).`;
}

/** Input of a walk, for either workflow. */
export type WalkInput =
  | ({ readonly kind: 'sync' } & SyncEventsInput)
  | ({ readonly kind: 'backfill' } & BackfillEventsInput);

export interface Walk extends StreamKey {
  readonly into: string;
  readonly host?: string;
  readonly types: readonly string[];
}

export interface OpenedWalk {
  readonly walk: Walk;
  readonly windows: readonly number[];
  /** Whether the windows belong to an earlier, unfinished run: there may be newer events after these windows. */
  readonly continues: boolean;
  /** Length of the run's windows with a beginning, and of those that are done, in ms. */
  readonly lengthMs: number;
  readonly doneMs: number;
  readonly before: WalkCounts;
}

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
    verify: kind === VERIFY.trim() || undefined,
    from: from || undefined,
    until: until || undefined,
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
