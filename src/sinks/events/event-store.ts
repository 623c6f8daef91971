import {
  type EventWarehouse,
  type LoadedPages,
  MisshapenPage,
  type TypeCount,
  type WindowPages,
} from '../../core/event-warehouse.js';
import { eventTypes } from '../../core/events/payloads.js';
import { SinkBusy, SinkUnusable, TooMuchAtOnce } from '../../core/sink.js';
import { verifies } from '../../core/walk-job.js';
import { sumUpChecks } from './checks.js';
import type { EventDialect, EventTransaction, StagedPages } from './event-sql.js';
import { foldReplaced, foldWaiting } from './fold-state.js';
import { loadPages, type PartResult } from './load-pages.js';
import { beginRun, claimWindow, listStreams, moveWindow, readStream, splitWindow } from './windows.js';

/** What a transaction does: it changes nothing; marks and events; the state made of them; or all of that. */
export type Purpose = 'read' | 'write' | 'fold' | 'all';

/** What a database brings along for {@link createEventStore}. */
export interface EventDatabase<Tx extends EventTransaction> {
  readonly dialect: EventDialect;
  exists(): Promise<boolean>;
  /** Work in one transaction; of those that change the same things one at a time, see `Purpose`. */
  transaction<T>(purpose: Purpose, work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Brings pages before the database, within a transaction. */
  stage(tx: Tx, batch: readonly WindowPages[]): Promise<StagedPages>;
  close(): Promise<void>;
}

/** State is made beside loads of this many bytes or more: its dozens of statements cost the same for few events as for many. */
const WORTH_FOLDING = 24 * 1_048_576;

/** State of events that hold a megabyte each is made of few of them at a time. */
const MOST_PARTS = 64;

/** Work that takes more memory than there is once more, on more and smaller parts. */
async function inParts<T>(work: (parts: number) => Promise<T>): Promise<T> {
  for (let parts = 1; ; parts *= 8) {
    try {
      return await work(parts);
    } catch (error) {
      if (!(error instanceof TooMuchAtOnce) || parts >= MOST_PARTS) throw error;
    }
  }
}

/** The port on a database: the same statements for all, see `EventDialect`. */
export function createEventStore<Tx extends EventTransaction>(database: EventDatabase<Tx>): EventWarehouse {
  const { dialect } = database;
  let looksFirst = dialect.looksFirst;
  const fold = async (origin: string, atLeast: number): Promise<void> => {
    const some = (parts: number) =>
      database.transaction('fold', (tx) => foldWaiting(tx, dialect, origin, { atLeast, parts }));
    while (await inParts(some));
  };
  let folding = false;
  /** Makes state of what has been loaded while more is. What fails here is tried again, and told, by whoever settles. */
  const foldAside = (origin: string): void => {
    if (folding) return;
    folding = true;
    const over = () => {
      folding = false;
    };
    fold(origin, WORTH_FOLDING).then(over, over);
  };
  return {
    stream: async (key) =>
      (await database.exists()) ? database.transaction('read', (tx) => readStream(tx, dialect, key)) : null,

    begin: (key, run) =>
      database.transaction('write', async (tx) => {
        await beginRun(tx, dialect, key, run);
        const state = await readStream(tx, dialect, key);
        if (!state) throw new Error(`the stream ${key.stream} is gone`);
        return state;
      }),

    claim: (key, window, attempt) =>
      database.transaction('write', (tx) => claimWindow(tx, dialect, key, window, attempt)),

    split: (key, window, attempt, parts) =>
      database.transaction('write', (tx) => splitWindow(tx, dialect, key, window, attempt, parts)),

    async load(batch) {
      // A verification looks at everything, to note it down.
      const loaded = await withCare(looksFirst || batch.some(verifies) ? 'mixed' : 'new', (care) => {
        const work = (purpose: Purpose, parts: number) =>
          database.transaction(purpose, (tx) => loadBatch(tx, database, batch, { care, parts }));
        return care === 'replacing' ? inParts((parts) => work('all', parts)) : work('write', 1);
      }).catch((error: unknown) => {
        throw misshapen(batch, error);
      });
      // Where much is there already, as when a stretch is read again, the next pages are likely to be there, too.
      looksFirst = dialect.looksFirst || share(loaded) > 0.1;
      foldAside(batch[0]?.origin as string);
      return loaded;
    },

    settle: (origin) => fold(origin, 0),

    streams: async (origin) =>
      (await database.exists()) ? database.transaction('read', (tx) => listStreams(tx, dialect, origin)) : [],

    verified: (key) => database.transaction('write', (tx) => sumUpChecks(tx, dialect, key)),

    async counts(origin, span) {
      if (!(await database.exists())) return [];
      return database.transaction('read', async (tx) => {
        const { moment, millis } = dialect;
        const rows = await tx.rows<{ type: string; events: number; latest: number | null }>(
          `SELECT type, CAST(count(*) AS DOUBLE PRECISION) AS events, ${millis('max(created_at)')} AS latest FROM events
           WHERE origin = $1 AND ($2 = 0 OR created_at >= ${moment('$3')} AND created_at <= ${moment('$4')})
           GROUP BY type ORDER BY 2 DESC, 1`,
          [origin, span ? 1 : 0, span?.from ?? 0, span?.to ?? 0],
        );
        return rows.map((row): TypeCount => ({ ...row, known: eventTypes.includes(row.type) }));
      });
    },

    close: () => database.close(),
  };
}

/** What a database says of a page that holds no events, in the word of the port. Other errors pass. */
function misshapen(batch: readonly WindowPages[], error: unknown): unknown {
  if (error instanceof SinkBusy || error instanceof SinkUnusable || error instanceof MisshapenPage) return error;
  for (const { window, pages } of batch) {
    for (const { page, events } of pages) {
      if (!isList(events)) {
        return new MisshapenPage(`page ${page} of window ${window} is no list of events (section 4.8)`, {
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

/** Part of the events that were there already. */
function share(loaded: readonly LoadedPages[]): number {
  const sum = (of: (one: LoadedPages) => number) => loaded.reduce((total, one) => total + of(one), 0);
  return (
    1 -
    sum(({ added }) => added) /
      Math.max(
        1,
        sum(({ events }) => events),
      )
  );
}

/** How a load is made, and in how many parts state is made of it. */
interface Manner {
  readonly care: Care;
  readonly parts: number;
}

/** What a load takes its events for: all new; some there already; some there with other contents. Each is slower than the one before it. */
type Care = 'new' | 'mixed' | 'replacing';

/** Contents are replaced: the state made of the old ones is taken back, while nobody makes any. */
class Replaces extends Error {
  override readonly name = 'Replaces';
}

/** Work with as much care as it takes. */
async function withCare<T>(care: Care, work: (care: Care) => Promise<T>): Promise<T> {
  try {
    return await work(care);
  } catch (error) {
    // Something is there already; or wrong, which is found out with more care.
    if (care === 'new' && !(error instanceof SinkBusy)) return withCare('mixed', work);
    if (care === 'mixed' && (error instanceof Replaces || error instanceof TooMuchAtOnce))
      return withCare('replacing', work);
    throw error;
  }
}

/** Loads the parts that have no load line yet; answers for all of them, in their order. */
async function loadBatch<Tx extends EventTransaction>(
  tx: Tx,
  database: EventDatabase<Tx>,
  batch: readonly WindowPages[],
  how: Manner,
): Promise<readonly LoadedPages[]> {
  const results = await loadedBefore(tx, batch);
  const rest = batch.filter((_, index) => results[index] === null);
  if (rest.length > 0) {
    const loaded = await loadRest(tx, database, rest, how);
    for (const [index, part] of batch.entries()) results[index] ??= loaded[rest.indexOf(part)] ?? null;
  }
  return results.flatMap((result) => result ?? []);
}

/** What the load lines of these very pages say, null where there is none: the answer to a COMMIT may have been lost. */
async function loadedBefore(tx: EventTransaction, batch: readonly WindowPages[]): Promise<(LoadedPages | null)[]> {
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

async function loadRest<Tx extends EventTransaction>(
  tx: Tx,
  { dialect, stage }: EventDatabase<Tx>,
  batch: readonly WindowPages[],
  { care, parts: pieces }: Manner,
): Promise<readonly LoadedPages[]> {
  const numbers = await tx.rows<{ id: number }>(
    `SELECT CAST(nextval('event_load_ids') AS INTEGER) AS id FROM (VALUES ${batch.map(() => '(0)').join(', ')}) v`,
  );
  const loads = numbers.map(({ id }) => id).sort((a, b) => a - b);
  const staged = await stage(tx, batch);
  try {
    const parts = await loadPages(tx, dialect, { batch, loads, staged, careful: care !== 'new' });
    const replaces = parts.some(({ changed }) => changed > 0);
    if (replaces && care !== 'replacing') throw new Replaces('contents are replaced');
    const results: LoadedPages[] = [];
    for (const [index, part] of parts.entries()) {
      results.push(await writeDown(tx, dialect, batch[index] as WindowPages, loads[index] as number, part));
    }
    if (replaces) await foldReplaced(tx, dialect, batch[0]?.origin as string, pieces);
    return results;
  } finally {
    await staged.remove();
  }
}

const sizeOf = (pages: WindowPages['pages']) => pages.reduce((sum, page) => sum + page.events.length, 0);

async function writeDown(
  tx: EventTransaction,
  dialect: EventDialect,
  part: WindowPages,
  load: number,
  result: PartResult,
): Promise<LoadedPages> {
  const { origin, stream, window, attempt, pages } = part;
  const { events, added, changed } = result;
  const [first, last] = [pages[0]?.page ?? 0, pages.at(-1)?.page ?? 0];
  await tx.run(
    `INSERT INTO event_loads (load_id, origin, stream, window_number, attempt, first_page, last_page, events, added, changed,
       bytes, in_state, loaded_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0, ${dialect.moment('$12')})`,
    [load, origin, stream, window, attempt, first, last, events, added, changed, sizeOf(pages), Date.now()],
  );
  return { events, added, changed, current: await moveWindow(tx, dialect, part, result) };
}
