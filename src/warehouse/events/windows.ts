import type {
  EventWindow,
  StreamKey,
  StreamListing,
  StreamRun,
  StreamState,
  WindowPages,
} from '../../core/events/event-warehouse.js';
import type { WalkState } from '../../core/events/walk.js';
import { startWalk } from '../../core/events/walk.js';
import type { Span } from '../../core/events/walk-window.js';
import type { Transaction } from '../dialect.js';
import type { PartResult } from './load-pages.js';

const ofStream = 'origin = $1 AND stream = $2';
const keyOf = ({ origin, stream }: StreamKey) => [origin, stream] as const;

type Marks = Pick<StreamState, 'watermark' | 'sweptAt' | 'completedAt' | 'from' | 'to' | 'beganAt'>;

/** State of a stream; null for an unknown stream. */
export async function readStream(tx: Transaction, key: StreamKey): Promise<StreamState | null> {
  const { millis } = tx.dialect;
  const [stream] = await tx.rows<Marks>(
    `SELECT ${millis('watermark')} AS watermark, ${millis('swept_at')} AS "sweptAt", ${millis('completed_at')} AS "completedAt",
       ${millis('run_from')} AS "from", ${millis('run_to')} AS "to", ${millis('began_at')} AS "beganAt"
     FROM event_streams WHERE ${ofStream}`,
    keyOf(key),
  );
  if (!stream) return null;
  const sum = (column: string) => `CAST(coalesce(sum(${column}), 0) AS DOUBLE PRECISION)`;
  // Windows that are done and have no events do not count: reading such windows took almost no time, however long the windows are.
  const length = `CASE WHEN done = 0 OR events > 0 THEN ${millis('to_at')} - ${millis('from_at')} END`;
  const [sums] = await tx.rows<Omit<StreamState, keyof Marks | 'pending'>>(
    `SELECT CAST(count(*) AS INTEGER) AS windows, ${sum('pages')} AS pages, ${sum('events')} AS events, ${sum('added')} AS added,
       ${sum('changed')} AS changed, ${sum(length)} AS "lengthMs",
       CASE WHEN sum(done) = count(*) THEN 1 ELSE ${sum(`CASE WHEN done = 1 THEN ${length} END`)} / nullif(sum(${length}), 0) END AS share
     FROM event_windows WHERE ${ofStream}`,
    keyOf(key),
  );
  const pending = await tx.rows<{ window: number }>(
    `SELECT CAST(window_number AS INTEGER) AS "window" FROM event_windows WHERE ${ofStream} AND done = 0 ORDER BY window_number`,
    keyOf(key),
  );
  return { ...stream, ...(sums as NonNullable<typeof sums>), pending: pending.map(({ window }) => window) };
}

export async function listStreams(tx: Transaction, origin: string): Promise<readonly StreamListing[]> {
  const found = await tx.rows<{ stream: string; types: string }>(
    'SELECT stream, types FROM event_streams WHERE origin = $1 ORDER BY stream',
    [origin],
  );
  const listed: StreamListing[] = [];
  for (const { stream, types } of found) {
    const state = await readStream(tx, { origin, stream });
    if (state) listed.push({ stream, types: JSON.parse(types) as readonly string[], ...state });
  }
  return listed;
}

/** Begins a run of one window. Does nothing if windows of an earlier run are left. */
export async function beginRun(tx: Transaction, key: StreamKey, run: StreamRun): Promise<void> {
  const { moment } = tx.dialect;
  const known = await readStream(tx, key);
  if (known && known.pending.length > 0) return;
  if (!known) {
    await tx.run(`INSERT INTO event_streams (origin, stream, types, next_window) VALUES ($1, $2, $3, 1)`, [
      ...keyOf(key),
      JSON.stringify(run.types),
    ]);
  }
  await tx.run(`DELETE FROM event_windows WHERE ${ofStream}`, keyOf(key));
  await tx.run(`DELETE FROM event_checks WHERE ${ofStream}`, keyOf(key));
  await tx.run(
    `UPDATE event_streams SET run_from = ${moment('$3')}, run_to = ${moment('$4')}, run_sweeps = $5, began_at = ${moment('$6')},
       checked_at = NULL WHERE ${ofStream}`,
    [...keyOf(key), run.from, run.to, run.sweep ? 1 : 0, Date.now()],
  );
  await addWindows(tx, key, [run], startWalk());
}

/** Adds windows to a stream, with the next free numbers of the stream; returns these numbers. */
async function addWindows(
  tx: Transaction,
  key: StreamKey,
  spans: readonly Span[],
  walk: WalkState,
): Promise<readonly number[]> {
  const [next] = await tx.rows<{ next: number }>(
    `SELECT CAST(next_window AS INTEGER) AS next FROM event_streams WHERE ${ofStream}`,
    keyOf(key),
  );
  const first = next?.next ?? 1;
  const times: (number | null)[] = [];
  const moment = (at: number | null) => tx.dialect.moment(`$${times.push(at) + 3}`);
  const rows = spans.map(
    ({ from, to }, index) => `($1, $2, ${first + index}, ${moment(from)}, ${moment(to)}, $3, 0, 0, 0, 0, 0)`,
  );
  await tx.run(
    `INSERT INTO event_windows (origin, stream, window_number, from_at, to_at, walk, done, pages, events, added, changed)
     VALUES ${rows.join(', ')}`,
    [...keyOf(key), JSON.stringify(walk), ...times],
  );
  await tx.run(`UPDATE event_streams SET next_window = $3 WHERE ${ofStream}`, [...keyOf(key), first + spans.length]);
  return spans.map((_, index) => first + index);
}

/**
 * Claims a window for an attempt; returns null for a window that is done or no longer exists. If several attempts claim a window, the last
 * attempt holds the window.
 */
export async function claimWindow(
  tx: Transaction,
  key: StreamKey,
  window: number,
  attempt: string,
): Promise<EventWindow | null> {
  const { millis } = tx.dialect;
  const [found] = await tx.rows<{ from: number | null; to: number; walk: string }>(
    `UPDATE event_windows SET attempt = $4 WHERE ${ofStream} AND window_number = $3 AND done = 0
     RETURNING ${millis('from_at')} AS "from", ${millis('to_at')} AS "to", walk`,
    [...keyOf(key), window, attempt],
  );
  // Only this module writes the column, so its type is known.
  return found ? { ...found, window, walk: JSON.parse(found.walk) as WalkState } : null;
}

/** Replaces a claimed window by its parts; returns null if another attempt has claimed the window. */
export async function splitWindow(
  tx: Transaction,
  key: StreamKey,
  window: number,
  attempt: string,
  parts: readonly Span[],
  walk: WalkState = startWalk(),
): Promise<readonly number[] | null> {
  const integer = (column: string) => `CAST(${column} AS INTEGER) AS ${column}`;
  const [held] = await tx.rows<Pick<StreamState, 'pages' | 'events' | 'added' | 'changed'>>(
    `SELECT ${['pages', 'events', 'added', 'changed'].map(integer).join(', ')} FROM event_windows
     WHERE ${ofStream} AND window_number = $3 AND attempt = $4 AND done = 0`,
    [...keyOf(key), window, attempt],
  );
  if (!held) return null;
  await tx.run(`DELETE FROM event_windows WHERE ${ofStream} AND window_number = $3`, [...keyOf(key), window]);
  const numbers = await addWindows(tx, key, parts, walk);
  // The counts of the replaced window stay in the run's sums. The progress of that window is dropped.
  await tx.run(
    `UPDATE event_windows SET pages = $4, events = $5, added = $6, changed = $7 WHERE ${ofStream} AND window_number = $3`,
    [...keyOf(key), numbers[0] ?? 0, held.pages, held.events, held.added, held.changed],
  );
  return numbers;
}

/**
 * Records the progress of windows whose pages were loaded. After the last page of a window, advances the stream's watermark. Returns for
 * each window whether its attempt still holds the window.
 */
export async function moveWindows(
  tx: Transaction,
  batch: readonly WindowPages[],
  results: readonly PartResult[],
): Promise<readonly boolean[]> {
  const origin = batch[0]?.origin as string;
  const texts: string[] = [];
  const text = (value: string) => `CAST($${texts.push(value) + 1} AS ${tx.dialect.types.text})`;
  const whole = (value: number | null) => `CAST(${value === null ? 'NULL' : Math.trunc(value)} AS BIGINT)`;
  const rows = batch.map(({ stream, window, attempt, pages, walk }, index) => {
    const { events, added, changed, newest } = results[index] as PartResult;
    const numbers = [walk.done ? 1 : 0, newest, pages.length, events, added, changed].map(whole);
    return `(${[text(stream), whole(window), text(attempt), text(JSON.stringify(walk)), ...numbers].join(', ')})`;
  });
  const moved = await tx.rows<{ stream: string; window: number; attempt: string }>(
    `UPDATE event_windows SET walk = m.walk, done = CAST(m.done AS INTEGER), max_at = greatest(max_at, ${tx.dialect.moment('m.newest')}),
       pages = event_windows.pages + m.pages, events = event_windows.events + m.events, added = event_windows.added + m.added,
       changed = event_windows.changed + m.changed
     FROM (VALUES ${rows.join(', ')}) m(stream, "window", attempt, walk, done, newest, pages, events, added, changed)
     WHERE event_windows.origin = $1 AND event_windows.stream = m.stream AND event_windows.window_number = m."window"
       AND event_windows.attempt = m.attempt AND event_windows.done = 0
     RETURNING event_windows.stream, CAST(event_windows.window_number AS INTEGER) AS "window", event_windows.attempt`,
    [origin, ...texts],
  );
  const current = batch.map(({ stream, window, attempt }) =>
    moved.some((one) => one.stream === stream && one.window === window && one.attempt === attempt),
  );
  const ended = batch.filter(({ walk }, index) => walk.done && current[index]).map(({ stream }) => stream);
  for (const stream of new Set(ended)) await moveWatermark(tx, { origin, stream });
  return current;
}

/**
 * Moves the watermark to the newest event of the windows before the first unfinished window. If all windows are done, the run
 * is complete.
 */
async function moveWatermark(tx: Transaction, key: StreamKey): Promise<void> {
  await tx.run(
    `UPDATE event_streams SET watermark = greatest(watermark, (
       SELECT max(d.max_at) FROM event_windows d
       WHERE d.origin = $1 AND d.stream = $2 AND d.done = 1 AND d.to_at <= coalesce(
         (SELECT min(coalesce(o.from_at, ${tx.dialect.moment('0')})) FROM event_windows o
          WHERE o.origin = $1 AND o.stream = $2 AND o.done = 0), d.to_at)))
     WHERE ${ofStream}`,
    keyOf(key),
  );
  const [left] = await tx.rows<{ windows: number }>(
    `SELECT CAST(count(*) AS INTEGER) AS windows FROM event_windows WHERE ${ofStream} AND done = 0`,
    keyOf(key),
  );
  if (left?.windows !== 0) return;
  await tx.run(
    `UPDATE event_streams SET completed_at = ${tx.dialect.moment('$3')},
       swept_at = CASE WHEN run_sweeps = 1 THEN run_to ELSE swept_at END WHERE ${ofStream}`,
    [...keyOf(key), Date.now()],
  );
}
