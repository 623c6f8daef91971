import type { WalkState } from './walk.js';
import type { Span } from './walk-window.js';

/**
 * A stream of events with its own watermark: `sync`, one backfill or one verification. Streams in one warehouse share the events and the
 * current state.
 */
export interface StreamKey {
  /** Base URL of the service, or `sandbox`. */
  readonly origin: string;
  /** Such as `sync` or `backfill 2025-01-01..2025-06-30`; followed by the event types where it is filtered. */
  readonly stream: string;
}

/** A window as the warehouse keeps it. */
export interface EventWindow extends Span {
  /** Number within the stream. */
  readonly window: number;
  readonly walk: WalkState;
}

/** The state of a stream; times in Unix ms. */
export interface StreamState {
  readonly watermark: number | null;
  readonly sweptAt: number | null;
  /** When the stream's last run ended. */
  readonly completedAt: number | null;
  /** The range of the latest run (`from` null: without a beginning), and when that run began. */
  readonly from: number | null;
  readonly to: number | null;
  readonly beganAt: number | null;
  /** Numbers of the windows that are not done, the earliest first. */
  readonly pending: readonly number[];
  /** Sums over the windows of the latest run. */
  readonly windows: number;
  readonly pages: number;
  readonly events: number;
  readonly added: number;
  readonly changed: number;
  /**
   * Length in ms of the windows that have a beginning and are not empty. `share`: the part of it that is done, 0 to 1; null where the
   * length is 0.
   */
  readonly lengthMs: number;
  readonly share: number | null;
}

/** A stream with its name. */
export interface StreamListing extends StreamState {
  readonly stream: string;
  /** Event types that the stream is limited to; empty: all. */
  readonly types: readonly string[];
}

/** The result of a verification; only UTC days with differences, as `2025-01-31`. */
export interface Verification extends Differences {
  readonly days: readonly (Differences & { readonly day: string })[];
}

/** Counts of events that differed between warehouse and service. */
export interface Differences {
  /** Events that the warehouse lacked; now loaded. */
  readonly missing: number;
  /** Events with other contents; now replaced by the service's. */
  readonly changed: number;
  /** Events no longer returned by the service; rows kept. */
  readonly gone: number;
}

/** A new run over a range of time. `sweep`: its end is the end of a sweep. */
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

/** The number of bytes of pages. */
export function sizeOfPages(pages: readonly RawPage[]): number {
  return pages.reduce((sum, { events }) => sum + events.length, 0);
}

/** Pages of one window in their order, and the state of the walk after the last one. */
export interface WindowPages extends StreamKey {
  readonly window: number;
  /** The attempt that claimed the window. After another attempt's claim the pages still count, but not the state. */
  readonly attempt: string;
  readonly pages: readonly RawPage[];
  readonly walk: WalkState;
}

/** The result of a load for one window. */
export interface LoadedPages {
  /** Events in the pages, each once. */
  readonly events: number;
  /** New events among them. */
  readonly added: number;
  /** Events that replaced an older version. */
  readonly changed: number;
  /** False: another attempt has claimed the window since. */
  readonly current: boolean;
}

/** Counts of the events of one type. */
export interface TypeCount {
  readonly type: string;
  readonly events: number;
  /** Whether the type is documented (API reference: /websets/v0/events). */
  readonly known: boolean;
  readonly latest: number | null;
}

/**
 * A warehouse for webset events (API reference: /websets/v0/websets, /websets/v0/events). Pages, their windows' cursors and the watermark
 * are loaded in one transaction. The current state is updated in another one, for many loads at once, while more is loaded. An event is one
 * row, however often it is loaded; of two versions with one id the newer is kept. Rejects with `WarehouseBusy` and `WarehouseUnusable` as a
 * `RowWarehouse` does, and with {@link MisshapenPage}.
 */
export interface EventWarehouse {
  /** Null for an unknown stream. Never creates a warehouse. */
  stream(key: StreamKey): Promise<StreamState | null>;
  /** Begins a run of one window, unless an earlier run has windows left: then that run continues. */
  begin(key: StreamKey, run: StreamRun): Promise<StreamState>;
  /** Claims a window for an attempt: from then on only this attempt's state counts. Null where the window is done or was split. */
  claim(key: StreamKey, window: number, attempt: string): Promise<EventWindow | null>;
  /**
   * Replaces a claimed window by parts, each walked from `walk` (default: its beginning); returns their numbers. Null where another
   * attempt has claimed it.
   */
  split(
    key: StreamKey,
    window: number,
    attempt: string,
    parts: readonly Span[],
    walk?: WalkState,
  ): Promise<readonly number[] | null>;
  /**
   * Loads pages of any windows of one origin, all or nothing. The last page of a window moves the stream's watermark: to the newest
   * loaded event, at most to the first window that is not done.
   */
  load(batch: readonly WindowPages[]): Promise<readonly LoadedPages[]>;
  /** Updates the current state of a service from all loaded events and waits for it: called after the last load of a run. */
  foldAll(origin: string): Promise<void>;
  /** Streams of a service that the warehouse knows, by name. */
  streams(origin: string): Promise<readonly StreamListing[]>;
  /** Sums up a verification once none of its windows is left; repeated calls return the same. */
  verified(key: StreamKey): Promise<Verification>;
  /** Counts events by type, the most frequent first; `span` limits them to a range with both ends included. */
  counts(origin: string, span?: Span): Promise<readonly TypeCount[]>;
  close(): Promise<void>;
}

/** A page whose records are not events (API reference: /websets/v0/events). */
export class MisshapenPage extends Error {
  override readonly name = 'MisshapenPage';
}
