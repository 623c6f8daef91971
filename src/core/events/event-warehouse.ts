import type { WalkState } from './walk.js';
import type { Span } from './walk-window.js';

/**
 * A stream of events with marks of its own: `sync`, or one backfill. Streams on one warehouse share the events and the state
 * made of them, never each other's marks.
 */
export interface StreamKey {
  /** Base URL of the service, or `sandbox`. */
  readonly origin: string;
  /** Such as `sync` or `backfill 2025-01-01..2025-06-30`; with the types where it is filtered. */
  readonly stream: string;
}

/** A window as the warehouse keeps it. */
export interface EventWindow extends Span {
  /** Number within its stream. */
  readonly window: number;
  readonly walk: WalkState;
}

/** What is known of a stream; times in Unix ms. */
export interface StreamState {
  readonly watermark: number | null;
  readonly sweptAt: number | null;
  /** When its last run reached its end. */
  readonly completedAt: number | null;
  /** Its latest run: from when (null: the beginning of everything) to when, and when it began. */
  readonly from: number | null;
  readonly to: number | null;
  readonly beganAt: number | null;
  /** Windows that are not walked to their end, by number, the earliest first. */
  readonly pending: readonly number[];
  /** Sums over the windows of its latest run. */
  readonly windows: number;
  readonly pages: number;
  readonly events: number;
  readonly added: number;
  readonly changed: number;
  /** Length of the windows that have a beginning and are not found empty, ms; and the part of it that is done, 0 to 1, null where it is none. */
  readonly lengthMs: number;
  readonly share: number | null;
}

/** A stream by its name. */
export interface StreamListing extends StreamState {
  readonly stream: string;
  /** Types of events it is limited to; none: all. */
  readonly types: readonly string[];
}

/** What a verification found; days of UTC, `2025-01-31`, only those where something was. */
export interface Verification extends Differences {
  readonly days: readonly (Differences & { readonly day: string })[];
}

/** Counts of events whose warehouse and service disagreed. */
export interface Differences {
  /** The warehouse lacked them; loaded now. */
  readonly missing: number;
  /** They had other contents; now they have those of the service. */
  readonly changed: number;
  /** The service shows them no more; kept. */
  readonly gone: number;
}

/** A new run over a stretch of time. `sweep`: its end is the end of a sweep. */
export interface StreamRun extends Span {
  readonly types: readonly string[];
  readonly sweep: boolean;
}

/** The events of a page as they came: the bytes of one JSON list. */
export interface RawPage {
  /** Number of the page in its window, from 1. */
  readonly page: number;
  readonly events: Uint8Array;
}

/** Bytes of pages. */
export function sizeOfPages(pages: readonly RawPage[]): number {
  return pages.reduce((sum, { events }) => sum + events.length, 0);
}

/** Pages of one window, in their order, and where the walk stands behind the last of them. */
export interface WindowPages extends StreamKey {
  readonly window: number;
  /** Who claimed the window; another's claim since then makes this one's pages count, but not its state. */
  readonly attempt: string;
  readonly pages: readonly RawPage[];
  readonly walk: WalkState;
}

/** What a load did to a window. */
export interface LoadedPages {
  /** Events in its pages, each once. */
  readonly events: number;
  /** … that were not there before. */
  readonly added: number;
  /** … that were there with other contents, and are newer now. */
  readonly changed: number;
  /** False: somebody else has claimed the window since. */
  readonly current: boolean;
}

/** Counts of the events of one type. */
export interface TypeCount {
  readonly type: string;
  readonly events: number;
  /** Whether anything is known of the type (interface section 6.1). */
  readonly known: boolean;
  readonly latest: number | null;
}

/**
 * A warehouse for webset events (interface sections 2.8, 4.8, 6.1). Pages, their windows' cursors and the watermark are one
 * transaction; the state made of many loads is another one, that follows while more is loaded. An event is one row, however often it
 * comes; of two contents under one id the newer stays.
 * Rejects with `SinkBusy` and `SinkUnusable` as a `Sink` does, and with {@link MisshapenPage}.
 */
export interface EventWarehouse {
  /** Null where nothing is known of the stream. Never creates a warehouse. */
  stream(key: StreamKey): Promise<StreamState | null>;
  /** Begins a run of one window, where no window of an earlier one is left; else that one goes on. */
  begin(key: StreamKey, run: StreamRun): Promise<StreamState>;
  /** Takes a window for an attempt: from now on only that one's state counts. Null where it is done or was split. */
  claim(key: StreamKey, window: number, attempt: string): Promise<EventWindow | null>;
  /**
   * Puts parts in the place of a claimed window, each walked from `walk`, or else its beginning; answers with their numbers. Null where
   * somebody else has claimed it.
   */
  split(
    key: StreamKey,
    window: number,
    attempt: string,
    parts: readonly Span[],
    walk?: WalkState,
  ): Promise<readonly number[] | null>;
  /**
   * Loads pages of any windows of one origin, all or nothing. The watermark of a stream moves with the last page of a window: to the newest
   * event loaded, no further than the first window that is not done.
   */
  load(batch: readonly WindowPages[]): Promise<readonly LoadedPages[]>;
  /** Makes current state of what is loaded of a service and waits for it: behind the last load of a run. */
  foldAll(origin: string): Promise<void>;
  /** Streams of a service that the warehouse knows, by name. */
  streams(origin: string): Promise<readonly StreamListing[]>;
  /** Sums up what a verification found, once none of its windows is left; a second time the same. */
  verified(key: StreamKey): Promise<Verification>;
  /** Events by type, the most first; between two times (both included) where given. */
  counts(origin: string, span?: Span): Promise<readonly TypeCount[]>;
  close(): Promise<void>;
}

/** A page that holds something other than events (interface section 4.8). */
export class MisshapenPage extends Error {
  override readonly name = 'MisshapenPage';
}
