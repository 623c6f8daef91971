/** A stretch of time that is walked with one cursor; both ends included, Unix ms. `from` null: since the beginning. */
export interface Span {
  readonly from: number | null;
  readonly to: number;
}

/** What the first page of a window shows of how full it is. */
export interface Evidence {
  readonly hasMore: boolean;
  /** Times of its records, Unix ms; those that can't be read are left out. */
  readonly times: readonly number[];
}

/** Records that a window should hold: 40 pages take a few seconds, and lose little where they are walked again. */
export const WINDOW_RECORDS = 8000;
/** A window is not split below this. */
export const MIN_SPAN_MS = 1000;
/** Parts that a window is split into at most; each is split again where it is still heavy. */
const MAX_PARTS = 64;
/** Parts of a window without a beginning: each is twice as long as the one after it. */
const DOUBLINGS = 16;

/**
 * Parts for a heavy window, the earliest first, or null where it is walked as it is. Neighbours share a moment: times may be
 * finer than a millisecond, and what is read twice is one row. Pure.
 */
export function splitSpan(span: Span, evidence: Evidence, records = WINDOW_RECORDS): readonly Span[] | null {
  const { times, hasMore } = evidence;
  if (!hasMore || times.length === 0) return null;
  const shown = Math.max(1, times.reduce(later) - times.reduce(earlier));
  /** Milliseconds that hold so many records, if all of the window is like its first page. */
  const part = Math.max(MIN_SPAN_MS, Math.ceil((shown / times.length) * records));
  if (span.from === null) return doubling(span.to, part);
  const length = span.to - span.from;
  const parts = Math.min(MAX_PARTS, Math.ceil(length / part), Math.floor(length / MIN_SPAN_MS));
  return parts < 2 ? null : cut(span.from, span.to, parts);
}

/** Two halves, for a window whose cursor expired or led in a circle; null where it is too short. */
export function halve(span: Span): readonly Span[] | null {
  if (span.from === null) return null;
  return span.to - span.from < 2 * MIN_SPAN_MS ? null : cut(span.from, span.to, 2);
}

function cut(from: number, to: number, parts: number): Span[] {
  const at = (index: number) => from + Math.round(((to - from) * index) / parts);
  return Array.from({ length: parts }, (_, index) => ({ from: at(index), to: at(index + 1) }));
}

/** Nobody knows how far back it goes: far parts are long, and split themselves. */
function doubling(to: number, part: number): Span[] {
  const bounds = Array.from({ length: DOUBLINGS }, (_, index) => to - part * (2 ** index - 1)).filter((at) => at >= 0);
  const spans = bounds.slice(1).map((from, index) => ({ from, to: bounds[index] as number }));
  return [...spans, { from: null, to: bounds.at(-1) as number }].reverse();
}

/**
 * How much of a window lies behind a page, by the times of its records in their order: for people only, because no order is promised.
 * Null where it can't be told. Pure, ms.
 */
export function coveredMs({ from, to }: Span, times: readonly number[]): number | null {
  const [first, last] = [times[0], times.at(-1)];
  if (from === null || first === undefined || last === undefined || first === last) return null;
  const covered = first > last ? to - times.reduce(earlier) : times.reduce(later) - from;
  return Math.min(to - from, Math.max(0, covered));
}

const later = (a: number, b: number) => Math.max(a, b);
const earlier = (a: number, b: number) => Math.min(a, b);

/** Read again by each sync, because events may show up after their time. */
export const OVERLAP_MS = 15 * 60_000;
/** A sync stays this far behind the service's clock. */
export const SETTLE_MS = 60_000;
/** Once a day a sync reads this much again. */
export const SWEEP_MS = 48 * 3_600_000;
export const SWEEP_EVERY_MS = 24 * 3_600_000;

/** What a stream has behind it, Unix ms. */
export interface Marks {
  /** Everything up to here is loaded, as far as it could be seen. */
  readonly watermark: number | null;
  /** When the last sweep was complete, by the service's clock. */
  readonly sweptAt: number | null;
}

/** The stretch that a sync reads next, by the service's clock; null where it is too soon. Pure. */
export function planSync(marks: Marks, serviceNow: number): (Span & { readonly sweep: boolean }) | null {
  const to = serviceNow - SETTLE_MS;
  const { watermark, sweptAt } = marks;
  if (watermark === null) return { from: null, to, sweep: true };
  const sweep = sweptAt === null || serviceNow - sweptAt >= SWEEP_EVERY_MS;
  const from = Math.min(watermark - OVERLAP_MS, ...(sweep ? [serviceNow - SWEEP_MS] : []));
  return from < to ? { from, to, sweep } : null;
}
