import type { ErrorCode } from '../errors/registry.js';
import type { StreamListing, StreamState, TypeCount } from '../team-output-schemas.js';
import type { Verification } from '../workflow-result-schemas.js';
import type { WalkState } from './walk.js';
import type { Span } from './walk-window.js';

export type { StreamListing, StreamState, TypeCount } from '../team-output-schemas.js';

/**
 * A stream of events with its own watermark: `sync`, one backfill or one verification. Streams in one warehouse share the events and the
 * current state.
 */
export interface StreamKey {
  /** Base URL of the service, or `sandbox`. */
  readonly origin: string;
  /** Name of the stream, such as `sync` or `backfill 2025-01-01..2025-06-30`. The name of a filtered stream ends with its event types. */
  readonly stream: string;
}

export interface EventWindow extends Span {
  /** Number within the stream. */
  readonly window: number;
  readonly walk: WalkState;
}

/** The time up to which all events are loaded. The watermark is the newest event, so a completed run without new events is newer. */
export function loadedUpTo(state: StreamState | null): number | null {
  if (state === null) return null;
  const { watermark, to, pending } = state;
  return pending.length === 0 && to !== null ? Math.max(watermark ?? 0, to) : watermark;
}

/** A new run over a range of time. `sweep`: whether the run is a sweep. */
export interface StreamRun extends Span {
  readonly types: readonly string[];
  readonly sweep: boolean;
}

/** The events of a page: the bytes of one JSON list, unchanged. */
export interface RawPage {
  /** Number of the page in its window, from 1. */
  readonly page: number;
  readonly events: Uint8Array;
}

export function sizeOfPages(pages: readonly RawPage[]): number {
  return pages.reduce((sum, { events }) => sum + events.length, 0);
}

/** Pages of one window in their order, and the state of the walk after the last page. */
export interface WindowPages extends StreamKey {
  readonly window: number;
  /**
   * The attempt that claimed the window. If another attempt has claimed the window since, the pages are loaded and their walk state is
   * ignored.
   */
  readonly attempt: string;
  readonly pages: readonly RawPage[];
  readonly walk: WalkState;
}

/** The result of a load for one window. */
export interface LoadedPages {
  /** Events in the pages, each once. */
  readonly events: number;
  /** Events in the pages that the warehouse did not have. */
  readonly added: number;
  /** Events that replaced an older version. */
  readonly changed: number;
  /** False: another attempt has claimed the window since these pages were read. */
  readonly current: boolean;
}

/**
 * A warehouse for webset events (API reference: /websets/v0/websets, /websets/v0/events). One transaction loads pages, the cursors of
 * their windows and the watermark. A second transaction updates the current state for many loads at once, concurrently with further loads.
 * An event is one row, however often it is loaded; of two versions of one event, the newer version is kept. Rejects with `WarehouseBusy`
 * and `WarehouseUnusable` as a `RowWarehouse` does, and with {@link MisshapenPage}.
 */
export interface EventWarehouse {
  /** Null for an unknown stream. Never creates a warehouse. */
  stream(key: StreamKey): Promise<StreamState | null>;
  /** Begins a run of one window. If an earlier run has windows left, continues the earlier run instead. */
  begin(key: StreamKey, run: StreamRun): Promise<StreamState>;
  /** Claims a window for an attempt: from then on, only the walk state of this attempt counts. Null if the window is done or was split. */
  claim(key: StreamKey, window: number, attempt: string): Promise<EventWindow | null>;
  /**
   * Replaces a claimed window by parts; returns the numbers of the parts. The walk of each part begins in the state `walk` (default: the
   * state before the first page). Null if another attempt has claimed the window.
   */
  split(
    key: StreamKey,
    window: number,
    attempt: string,
    parts: readonly Span[],
    walk?: WalkState,
  ): Promise<readonly number[] | null>;
  /**
   * Loads pages of any windows of one origin, all or nothing. The last page of a window moves the stream's watermark to the newest loaded
   * event, but not past the first window that is not done.
   */
  load(batch: readonly WindowPages[]): Promise<readonly LoadedPages[]>;
  /** Updates the current state of a service from all loaded events, and resolves after the update. Called after the last load of a run. */
  foldAll(origin: string): Promise<void>;
  streams(origin: string): Promise<readonly StreamListing[]>;
  /** Returns the result of a verification whose windows are all done. Repeated calls return the same result. */
  verified(key: StreamKey): Promise<Verification>;
  /** Counts events by type, the most frequent type first. `span` limits the count to a range of time with both ends included. */
  counts(origin: string, span?: Span): Promise<readonly TypeCount[]>;
  close(): Promise<void>;
}

/** A page whose records are not events (API reference: /websets/v0/events). */
export class MisshapenPage extends Error {
  override readonly name = 'MisshapenPage';
  readonly errorCode = 'events-malformed' satisfies ErrorCode;
}
