export interface StrictEventsOptions {
  readonly count?: number;
  /** Unix ms. */
  readonly from?: number;
  readonly to?: number;
  readonly order?: 'newest' | 'oldest';
  readonly together?: number;
  readonly arrivingPerSecond?: number;
  /** Part of the events that show up later than they happen, by up to `lateMs`. */
  readonly late?: number;
  readonly lateMs?: number;
  readonly repeatRecords?: number;
  readonly repeatPage?: number;
  readonly cursorTtlMs?: number | null;
  readonly latencyMs?: number;
  readonly qps?: number | null;
}

export interface StrictEvents {
  readonly url: string;
  requests(): number;
  refused(): number;
  rate(): number;
  now(): number;
  freeze(): void;
  advance(ms: number): void;
  ids(): readonly string[];
  newest(): number;
  /** When each happened, and from when it is seen; Unix ms. */
  happened(): readonly { readonly id: string; readonly at: number; readonly seenAt: number }[];
  close(): Promise<void>;
}

export function startStrictEvents(options?: StrictEventsOptions): Promise<StrictEvents>;
