import { type LoadedPages, MisshapenPage, sizeOfPages, type WindowPages } from '../../core/events/event-warehouse.js';
import { verifies } from '../../core/events/walk-job.js';
import { TooMuchAtOnce, WarehouseBusy, WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import type { Database, Purpose } from '../database.js';
import type { Transaction } from '../dialect.js';
import { literal } from '../shared/duckdb-quote.js';
import { keepRecords } from '../sink-batches.js';
import { eventTables } from './event-tables.js';
import { foldReplaced } from './fold-state.js';
import { loadPages, type PartResult } from './load-pages.js';
import { moveWindows } from './windows.js';

/** What a load assumes, and the number of parts in which the load is folded. */
interface Manner {
  readonly care: Care;
  readonly parts: number;
}

/**
 * What a load assumes about its events. `new`: no event exists yet; `mixed`: some events exist; `replacing`: some events exist with other
 * contents. A load with `mixed` takes longer than a load with `new`, and a load with `replacing` takes longest.
 */
type Care = 'new' | 'mixed' | 'replacing';

/** The load replaces contents. So the load must run again, revert the state made from the old contents, and exclude other folds. */
class Replaces extends Error {
  override readonly name = 'Replaces';
}

/** Loads pages of any windows of one origin, all or nothing. `checksIdsFirst`: some events of the pages probably exist already. */
export async function loadBatch(
  database: Database,
  batch: readonly WindowPages[],
  checksIdsFirst: boolean,
): Promise<readonly LoadedPages[]> {
  const load = (care: Care) => {
    const work = (purpose: Purpose, parts: number) =>
      database.transaction(purpose, (tx) => loadOnce(tx, batch, { care, parts }));
    return care === 'replacing' ? inParts((parts) => work('all', parts)) : work('events', 1);
  };
  try {
    // A verification compares every event with the stored one and records the result.
    return await withCare(checksIdsFirst || batch.some(verifies) ? 'mixed' : 'new', load);
  } catch (error) {
    throw misshapen(batch, error);
  }
}

/** Starts with the fastest way. If the assumption of a way was wrong, retries with the next slower way. */
async function withCare<T>(care: Care, work: (care: Care) => Promise<T>): Promise<T> {
  try {
    return await work(care);
  } catch (error) {
    // Either an event exists already, or the data is wrong. The slower way reports wrong data.
    if (care === 'new' && !(error instanceof WarehouseBusy)) return withCare('mixed', work);
    if (care === 'mixed' && (error instanceof Replaces || error instanceof TooMuchAtOnce))
      return withCare('replacing', work);
    throw error;
  }
}

/** Loads the parts that have no load line yet, in the caller's transaction. Returns the results of all parts, in the order of the parts. */
async function loadOnce(tx: Transaction, batch: readonly WindowPages[], how: Manner): Promise<readonly LoadedPages[]> {
  const results = await loadedBefore(tx, batch);
  const rest = batch.filter((_, index) => results[index] === null);
  if (rest.length > 0) {
    const loaded = await loadRest(tx, rest, how);
    for (const [index, part] of batch.entries()) results[index] ??= loaded[rest.indexOf(part)] ?? null;
  }
  return results.flatMap((result) => result ?? []);
}

/**
 * Returns the load lines of these pages, or null if the pages are not loaded. The pages may be loaded already, because the answer to a
 * COMMIT may have been lost.
 */
async function loadedBefore(tx: Transaction, batch: readonly WindowPages[]): Promise<(LoadedPages | null)[]> {
  const attempts = [...new Set(batch.map(({ attempt }) => attempt))];
  const lines = await tx.rows<
    Omit<LoadedPages, 'current'> & Pick<WindowPages, 'stream' | 'window' | 'attempt'> & { last: number }
  >(
    `SELECT stream, CAST(window_number AS INTEGER) AS "window", attempt, CAST(last_page AS INTEGER) AS last,
       CAST(events AS INTEGER) AS events, CAST(added AS INTEGER) AS added, CAST(changed AS INTEGER) AS changed
     FROM event_loads WHERE origin = $1 AND attempt IN (${attempts.map((_, index) => `$${index + 2}`).join(', ')})`,
    [batch[0]?.origin ?? '', ...attempts],
  );
  return batch.map(({ stream, window, attempt, pages }) => {
    const line = lines.find(
      (one) =>
        one.stream === stream &&
        one.window === window &&
        one.attempt === attempt &&
        one.last >= (pages.at(-1)?.page ?? 0),
    );
    return line ? { events: line.events, added: line.added, changed: line.changed, current: true } : null;
  });
}

async function loadRest(
  tx: Transaction,
  batch: readonly WindowPages[],
  { care, parts: pieces }: Manner,
): Promise<readonly LoadedPages[]> {
  const numbers = await tx.rows<{ id: number }>(
    `SELECT CAST(nextval('event_load_ids') AS INTEGER) AS id FROM (VALUES ${batch.map(() => '(0)').join(', ')}) v`,
  );
  const loads = numbers.map(({ id }) => id).sort((a, b) => a - b);
  return tx.readPages(batch, async (staged) => {
    const parts = await loadPages(tx, { batch, loads, staged, careful: care !== 'new' });
    const replaces = parts.some(({ changed }) => changed > 0);
    if (replaces && care !== 'replacing') throw new Replaces('contents are replaced');
    const results = await writeDown(tx, batch, loads, parts);
    await keepBatches(tx, batch, loads);
    if (replaces) await foldReplaced(tx, batch[0]?.origin as string, pieces);
    return results;
  });
}

/** Keeps the new events of each stream as a batch for a sink. */
async function keepBatches(tx: Transaction, batch: readonly WindowPages[], loads: readonly number[]): Promise<void> {
  const events = eventTables(tx.dialect).find(({ name }) => name === 'events');
  for (const job of new Set(batch.map(({ stream }) => stream))) {
    const own = loads.filter((_, part) => batch[part]?.stream === job);
    const where = `origin = ${literal(batch[0]?.origin ?? '')} AND load_id IN (${own.join(', ')})`;
    if (events) await keepRecords(tx, events, { job, where });
  }
}

async function writeDown(
  tx: Transaction,
  batch: readonly WindowPages[],
  loads: readonly number[],
  results: readonly PartResult[],
): Promise<readonly LoadedPages[]> {
  const texts: string[] = [];
  const text = (value: string) => `$${texts.push(value) + 2}`;
  const lines = batch.map(({ stream, window, attempt, pages }, index) => {
    const { events, added, changed } = results[index] as PartResult;
    const [first, last] = [pages[0]?.page ?? 0, pages.at(-1)?.page ?? 0];
    const counts = [first, last, events, added, changed, sizeOfPages(pages), 0];
    return `(${[loads[index], '$1', text(stream), window, text(attempt), ...counts].join(', ')}, ${tx.dialect.moment('$2')})`;
  });
  await tx.run(
    `INSERT INTO event_loads (load_id, origin, stream, window_number, attempt, first_page, last_page, events, added, changed, bytes,
       in_state, loaded_at) VALUES ${lines.join(', ')}`,
    [batch[0]?.origin ?? '', Date.now(), ...texts],
  );
  const current = await moveWindows(tx, batch, results);
  return results.map(({ events, added, changed }, index) => ({
    ...{ events, added, changed },
    current: current[index] ?? false,
  }));
}

/** Returns a `MisshapenPage` if a page is not a list of events. Returns any other error unchanged. */
function misshapen(batch: readonly WindowPages[], error: unknown): unknown {
  if (error instanceof WarehouseBusy || error instanceof WarehouseUnusable || error instanceof MisshapenPage)
    return error;
  for (const { window, pages } of batch) {
    for (const { page, events } of pages) {
      if (!isList(events)) {
        return new MisshapenPage(`page ${page} of window ${window} is not a list of events`, {
          cause: error,
        });
      }
    }
  }
  return error;
}

function isList(events: Uint8Array): boolean {
  try {
    const list: unknown = JSON.parse(Buffer.from(events).toString());
    return Array.isArray(list) && list.every((one) => typeof one === 'object' && one !== null && !Array.isArray(one));
  } catch {
    return false;
  }
}

/** Maximum number of parts. With this many parts, only a few events are folded at a time even if each event has a megabyte. */
const MOST_PARTS = 64;

/** Runs `work`. If `work` needs too much memory, repeats it with more and smaller parts. */
export async function inParts<T>(work: (parts: number) => Promise<T>): Promise<T> {
  for (let parts = 1; ; parts *= 8) {
    try {
      return await work(parts);
    } catch (error) {
      if (!(error instanceof TooMuchAtOnce) || parts >= MOST_PARTS) throw error;
    }
  }
}
