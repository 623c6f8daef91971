import type { PayloadKind } from '../../core/events/payloads.js';
import { partTables, stateTables } from '../../core/events/state-tables.js';
import type { Transaction } from '../dialect.js';
import { type Folded, updateStates } from './state-sql.js';

/**
 * Bytes of loads that are folded at a time; the last load may exceed this size. With fewer bytes, most tables would get fewer rows than a
 * row group has, and DuckDB would write these rows twice.
 */
export const ENOUGH_TO_FOLD = 36 * 1_048_576;

const loadedFrom = (load: number) => `origin = $1 AND load_id >= ${load}`;

/**
 * Updates the current state with loads that are not in the state yet, the earliest first, in the caller's transaction. Takes loads up to
 * `ENOUGH_TO_FOLD` bytes. Takes no load if all waiting loads together have fewer bytes than `atLeast`. Returns whether loads are left.
 * `parts`: number of parts into which the events are divided, to save memory.
 */
export async function foldWaiting(
  tx: Transaction,
  origin: string,
  { atLeast, parts }: { readonly atLeast: number; readonly parts: number },
): Promise<boolean> {
  const waiting = await waitingLoads(tx, origin);
  if (waiting.length === 0 || sizeOf(waiting) < atLeast) return false;
  let bytes = 0;
  const taken = waiting.filter((one) => {
    const enough = bytes >= ENOUGH_TO_FOLD;
    bytes += one.bytes;
    return !enough;
  });
  const [first, last] = [taken[0]?.load as number, taken.at(-1)?.load as number];
  await fold(tx, { origin, which: `${loadedFrom(first)} AND load_id <= ${last}` }, parts);
  await mark(tx, origin, last);
  return last < (waiting.at(-1) as WaitingLoad).load;
}

/** Folds all waiting loads after a load that replaced contents. Before the fold, reverts the state that was made from the old contents. */
export async function foldReplaced(tx: Transaction, origin: string, parts: number): Promise<void> {
  await takeBack(tx, origin);
  const waiting = await waitingLoads(tx, origin);
  const [first, last] = [waiting[0]?.load as number, waiting.at(-1)?.load as number];
  await fold(tx, { origin, which: `(${loadedFrom(first)} OR ${refolded})` }, parts);
  await mark(tx, origin, last);
}

interface WaitingLoad {
  readonly load: number;
  readonly bytes: number;
}

const sizeOf = (loads: readonly WaitingLoad[]) => loads.reduce((sum, { bytes }) => sum + bytes, 0);

function waitingLoads(tx: Transaction, origin: string): Promise<readonly WaitingLoad[]> {
  return tx.rows(
    `SELECT CAST(load_id AS INTEGER) AS load, CAST(bytes AS INTEGER) AS bytes FROM event_loads
     WHERE origin = $1 AND in_state = 0 ORDER BY load_id`,
    [origin],
  );
}

async function fold(tx: Transaction, { origin, which: events }: Folded, parts: number): Promise<void> {
  // The order of parts does not matter: the newest version of each object is kept.
  for (let part = 0; part < parts; part++) {
    const which = parts === 1 ? events : `${events} AND abs(digest % ${parts}) = ${part}`;
    const kinds = await tx.rows<{ payload: PayloadKind }>(
      `SELECT DISTINCT payload FROM events WHERE ${which} AND payload IS NOT NULL`,
      [origin],
    );
    await updateStates(tx, { origin, which }, new Set(kinds.map(({ payload }) => payload)));
  }
}

async function mark(tx: Transaction, origin: string, last: number): Promise<void> {
  await tx.run(
    'UPDATE event_loads SET in_state = 1 WHERE origin = $1 AND in_state = 0 AND load_id <= CAST($2 AS BIGINT)',
    [origin, last],
  );
}

/** Condition on `events`: the events that {@link takeBack} selects to be folded again. `$1` is the origin. */
export const refolded = 'origin = $1 AND id IN (SELECT id FROM refolded)';

/**
 * Writes the objects whose contents are replaced into the temporary table `touched`. The table `winners` has the events with the new
 * contents.
 */
export async function touch(tx: Transaction, origin: string): Promise<void> {
  await tx.createTemp('touched', about, [origin]);
}

const about = 'SELECT webset_id, object_id FROM events WHERE origin = $1 AND id IN (SELECT id FROM winners)';

/**
 * Reverts the state made from the old contents, and writes the events to fold again into `refolded`. These events are all events of the
 * same websets and objects, because an old content may have been the newest version of an object. Call this function after the new contents
 * are inserted.
 */
export async function takeBack(tx: Transaction, origin: string): Promise<void> {
  await tx.run(`INSERT INTO touched ${about}`, [origin]);
  await tx.createTemp(
    'refolded',
    `SELECT id FROM events WHERE origin = $1
         AND (webset_id IN (SELECT webset_id FROM touched) OR object_id IN (SELECT object_id FROM touched))`,
    [origin],
  );
  for (const { name } of [...stateTables, ...partTables]) {
    await tx.run(`DELETE FROM ${name} WHERE origin = $1 AND event_id IN (SELECT id FROM winners)`, [origin]);
  }
}
