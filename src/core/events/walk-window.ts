/** A range of time that is walked with one cursor, in Unix ms, with both ends included. `from` null: the range has no beginning. */
export interface Span {
  readonly from: number | null;
  readonly to: number;
}

/** The facts of a window's first page from which the number of records in the window is estimated. */
export interface Evidence {
  readonly hasMore: boolean;
  /** Times of the page's records in Unix ms, without unreadable times. */
  readonly times: readonly number[];
}

/** Target number of records of a window: 40 pages take a few seconds and are cheap to walk again. */
export const WINDOW_RECORDS = 8000;
/** A window is not split below this length. */
export const MIN_SPAN_MS = 1000;
/** Maximum number of parts of a split. A part that still has too many records is split again. */
const MAX_PARTS = 64;
/** Maximum number of parts of a window without a beginning. Each part is twice as long as the next part. */
const DOUBLINGS = 16;

/**
 * Returns the parts of a window with many records, the earliest first; null if the window is not split. Adjacent parts overlap by one
 * millisecond value, because times may be finer than a millisecond. A record that is read twice is one row. Pure.
 */
export function splitSpan(span: Span, evidence: Evidence, records = WINDOW_RECORDS): readonly Span[] | null {
  const { times, hasMore } = evidence;
  if (!hasMore || times.length === 0) return null;
  const shown = Math.max(1, times.reduce(later) - times.reduce(earlier));
  /** Milliseconds that hold `records` records, if records are as frequent as in the first page. */
  const part = Math.max(MIN_SPAN_MS, Math.ceil((shown / times.length) * records));
  if (span.from === null) return doubling(span.to, part);
  const length = span.to - span.from;
  const wanted = Math.min(Math.ceil(length / part), Math.floor(length / MIN_SPAN_MS));
  // More windows than that are made in two steps, so that few windows are only split again.
  const parts = wanted > MAX_PARTS ? Math.min(MAX_PARTS, Math.ceil(wanted / MAX_PARTS)) : wanted;
  return parts < 2 ? null : cut(span.from, span.to, parts);
}

/** Two halves, for a window with an expired cursor or a pagination loop; null if the window is too short or has no beginning. */
export function halve(span: Span): readonly Span[] | null {
  if (span.from === null) return null;
  return span.to - span.from < 2 * MIN_SPAN_MS ? null : cut(span.from, span.to, 2);
}

function cut(from: number, to: number, parts: number): Span[] {
  const at = (index: number) => from + Math.round(((to - from) * index) / parts);
  return Array.from({ length: parts }, (_, index) => ({ from: at(index), to: at(index + 1) }));
}

/** The beginning is unknown, so early parts are long and are split again during the walk. */
function doubling(to: number, part: number): Span[] {
  const bounds = Array.from({ length: DOUBLINGS }, (_, index) => to - part * (2 ** index - 1)).filter((at) => at >= 0);
  const spans = bounds.slice(1).map((from, index) => ({ from, to: bounds[index] as number }));
  return [...spans, { from: null, to: bounds.at(-1) as number }].reverse();
}

/**
 * Length in ms of the read part of a window, computed from the times of the records of the latest page. The length is only for display,
 * because the order of records is not guaranteed. Null if unknown. Pure.
 */
export function coveredMs({ from, to }: Span, times: readonly number[]): number | null {
  const [first, last] = [times[0], times.at(-1)];
  if (from === null || first === undefined || last === undefined || first === last) return null;
  const covered = first > last ? to - times.reduce(earlier) : times.reduce(later) - from;
  return Math.min(to - from, Math.max(0, covered));
}

const later = (a: number, b: number) => Math.max(a, b);
const earlier = (a: number, b: number) => Math.min(a, b);

/** The length of the range before its watermark that each sync reads again, because events may appear late. */
export const OVERLAP_MS = 15 * 60_000;
/** The time between the end of a sync's range and the present time at the service. */
export const SETTLE_MS = 60_000;
/** The length of the range that a sweep reads again. */
export const SWEEP_MS = 48 * 3_600_000;
export const SWEEP_EVERY_MS = 24 * 3_600_000;

/** The watermark of a stream and the time of its last sweep, in Unix ms. */
export interface Marks {
  /** All visible events up to this time are loaded. */
  readonly watermark: number | null;
  /** When the last sweep was completed, by the service's clock. */
  readonly sweptAt: number | null;
}

/** The next range of a sync, by the service's clock; null if the watermark is so recent that the range would be empty. Pure. */
export function planSync(marks: Marks, serviceNow: number): (Span & { readonly sweep: boolean }) | null {
  const to = serviceNow - SETTLE_MS;
  const { watermark, sweptAt } = marks;
  if (watermark === null) return { from: null, to, sweep: true };
  const sweep = sweptAt === null || serviceNow - sweptAt >= SWEEP_EVERY_MS;
  const from = Math.min(watermark - OVERLAP_MS, ...(sweep ? [serviceNow - SWEEP_MS] : []));
  return from < to ? { from, to, sweep } : null;
}
