import type { EventWarehouse, EventWindow, LoadedPages, TypeCount } from '../../core/events/event-warehouse.js';
import { eventTypes } from '../../core/events/payloads.js';
import type { Database } from '../database.js';
import { ENOUGH_TO_FOLD, foldWaiting } from './fold-state.js';
import { inParts, loadBatch } from './load-batch.js';
import { sumUpChecks } from './load-pages.js';
import { beginRun, claimWindows, listStreams, readStream, splitWindow, type WindowClaim } from './windows.js';

/** Returns the event warehouse in a database. All databases get the same statements, see `Dialect`. */
export function createEventStore(database: Database): EventWarehouse {
  const { dialect, exists, transaction, close } = database;
  let checksIdsFirst = dialect.keys;
  let waitingForFold = 0;
  const fold = async (origin: string, atLeast: number): Promise<void> => {
    const some = (parts: number) =>
      transaction(waitingForFold > 0 ? 'foldAll' : 'fold', (tx) => foldWaiting(tx, origin, { atLeast, parts }));
    while (await inParts(some));
  };
  let folding = false;
  /**
   * Starts to update the current state with the loaded events, while further pages are loaded. If the update fails, `foldAll` retries the
   * update and reports the failure.
   */
  const foldAside = (origin: string): void => {
    if (folding) return;
    folding = true;
    const over = () => {
      folding = false;
    };
    fold(origin, ENOUGH_TO_FOLD).then(over, over);
  };
  /** Claims of windows are batched. */
  const claim = batched<WindowClaim, EventWindow | null>((take) =>
    transaction('events', (tx) => claimWindows(tx, take())),
  );
  return {
    stream: async (key) => ((await exists()) ? transaction('read', (tx) => readStream(tx, key)) : null),

    begin: (key, run) =>
      transaction('events', async (tx) => {
        await beginRun(tx, key, run);
        const state = await readStream(tx, key);
        if (!state) throw new Error(`the stream ${key.stream} is missing`);
        return state;
      }),

    claim: ({ origin, stream }, window, attempt) => claim({ origin, stream, window, attempt }),

    split: (key, window, attempt, parts, walk) =>
      transaction('events', (tx) => splitWindow(tx, key, window, attempt, parts, walk)),

    async load(batch) {
      const loaded = await loadBatch(database, batch, checksIdsFirst);
      // If many events existed already, for example in a range that is read again, the events of the next pages probably exist, too.
      checksIdsFirst = dialect.keys || share(loaded) > 0.1;
      foldAside(batch[0]?.origin as string);
      return loaded;
    },

    async foldAll(origin) {
      waitingForFold++;
      try {
        await fold(origin, 0);
      } finally {
        waitingForFold--;
      }
    },

    streams: async (origin) => ((await exists()) ? transaction('read', (tx) => listStreams(tx, origin)) : []),

    verified: (key) => transaction('events', (tx) => sumUpChecks(tx, key)),

    async counts(origin, span) {
      if (!(await exists())) return [];
      return transaction('read', async (tx) => {
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

    close,
  };
}

/** Share of the events that existed already. */
function share(loaded: readonly LoadedPages[]): number {
  const [events, added] = loaded.reduce(([all, some], one) => [all + one.events, some + one.added] as const, [0, 0]);
  return 1 - added / Math.max(1, events);
}

/**
 * Batches requests that wait for the same transaction. `serve` takes all waiting requests when its transaction starts, and
 * returns their answers in the same order. If `serve` fails, all these requests fail.
 */
export function batched<Request, Answer>(
  serve: (take: () => readonly Request[]) => Promise<readonly Answer[]>,
): (request: Request) => Promise<Answer> {
  interface Waiting {
    readonly request: Request;
    resolve(answer: Answer): void;
    reject(error: unknown): void;
  }
  let waiting: Waiting[] = [];
  const serveAll = async (): Promise<void> => {
    let taken: Waiting[] | null = null;
    // `serve` calls this function again if `serve` retries the transaction.
    const take = (): Waiting[] => {
      if (taken === null) [taken, waiting] = [waiting, []];
      return taken;
    };
    try {
      const answers = await serve(() => take().map(({ request }) => request));
      for (const [index, one] of take().entries()) one.resolve(answers[index] as Answer);
    } catch (error) {
      for (const one of take()) one.reject(error);
    }
  };
  return (request) =>
    new Promise<Answer>((resolve, reject) => {
      waiting.push({ request, resolve, reject });
      if (waiting.length === 1) void serveAll();
    });
}
