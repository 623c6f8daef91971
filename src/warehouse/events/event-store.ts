import type { EventWarehouse, LoadedPages, TypeCount } from '../../core/events/event-warehouse.js';
import { eventTypes } from '../../core/events/payloads.js';
import type { Database } from '../database.js';
import { transactionsOf } from '../rows/read-job.js';
import { ENOUGH_TO_FOLD, foldWaiting } from './fold-state.js';
import { inParts, loadBatch } from './load-batch.js';
import { sumUpChecks } from './load-pages.js';
import { beginRun, claimWindow, listStreams, readStream, splitWindow } from './windows.js';

export function createEventStore(database: Database): EventWarehouse {
  const { dialect, transaction, close } = database;
  const { ifPresent } = transactionsOf(database);
  let checksIdsFirst = dialect.keys;
  const fold = async (origin: string, atLeast: number): Promise<void> => {
    const some = (parts: number) => transaction('fold', (tx) => foldWaiting(tx, origin, { atLeast, parts }));
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
  return {
    stream: (key) => ifPresent(null, 'read', (tx) => readStream(tx, key)),

    begin: (key, run) =>
      transaction('events', async (tx) => {
        await beginRun(tx, key, run);
        const state = await readStream(tx, key);
        if (!state) throw new Error(`the stream ${key.stream} is missing`);
        return state;
      }),

    claim: (key, window, attempt) => transaction('events', (tx) => claimWindow(tx, key, window, attempt)),

    split: (key, window, attempt, parts, walk) =>
      transaction('events', (tx) => splitWindow(tx, key, window, attempt, parts, walk)),

    async load(batch) {
      const loaded = await loadBatch(database, batch, checksIdsFirst);
      // If many events existed already, for example in a range that is read again, the events of the next pages probably exist, too.
      checksIdsFirst = dialect.keys || share(loaded) > 0.1;
      foldAside(batch[0]?.origin as string);
      return loaded;
    },

    foldAll: (origin) => fold(origin, 0),

    streams: (origin) => ifPresent([], 'read', (tx) => listStreams(tx, origin)),

    verified: (key) => transaction('events', (tx) => sumUpChecks(tx, key)),

    counts: (origin, span) =>
      ifPresent([], 'read', async (tx) => {
        const { moment, millis } = dialect;
        const rows = await tx.rows<{ type: string; events: number; latest: number | null }>(
          `SELECT type, CAST(count(*) AS DOUBLE PRECISION) AS events, ${millis('max(created_at)')} AS latest FROM events
           WHERE origin = $1 AND ($2 = 0 OR created_at >= ${moment('$3')} AND created_at <= ${moment('$4')})
           GROUP BY type ORDER BY 2 DESC, 1`,
          [origin, span ? 1 : 0, span?.from ?? 0, span?.to ?? 0],
        );
        return rows.map((row): TypeCount => ({ ...row, known: eventTypes.includes(row.type) }));
      }),

    close,
  };
}

function share(loaded: readonly LoadedPages[]): number {
  const [events, added] = loaded.reduce(([all, some], one) => [all + one.events, some + one.added] as const, [0, 0]);
  return 1 - added / Math.max(1, events);
}
