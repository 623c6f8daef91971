import { partTables, stateTables } from '../../core/events/state-tables.js';
import type { EventTransaction } from './event-sql.js';

/** Condition on `events`: the events that {@link takeBack} selects to be folded again. `$1` is the origin. */
export const refolded = 'origin = $1 AND id IN (SELECT id FROM refolded)';

/**
 * Writes the objects whose contents are replaced into the temporary table `touched`. The table `winners` has the events with the new
 * contents.
 */
export async function touch(tx: EventTransaction, origin: string): Promise<void> {
  await tx.createTemp('touched', about, [origin]);
}

const about = 'SELECT webset_id, object_id FROM events WHERE origin = $1 AND id IN (SELECT id FROM winners)';

/**
 * Reverts the state made from the old contents, and writes the events to fold again into `refolded`. These events are all events of the
 * same websets and objects, because an old content may have been the newest version of an object. Call this function after the new contents
 * are inserted.
 */
export async function takeBack(tx: EventTransaction, origin: string): Promise<void> {
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
