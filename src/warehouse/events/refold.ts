import { partTables, stateTables } from '../../core/events/state-tables.js';
import type { EventDialect, EventTransaction } from './event-sql.js';

/** Condition on `events`: those that {@link takeBack} wants looked at once more. Its `$1` is the origin. */
export const refolded = 'origin = $1 AND id IN (SELECT id FROM refolded)';

/** Leaves in `touched` what events are about whose contents are replaced, those of the temporary table `winners`. */
export async function touch(tx: EventTransaction, dialect: EventDialect, origin: string): Promise<void> {
  await tx.run(dialect.temp('touched', about), [origin]);
}

const about = 'SELECT webset_id, object_id FROM events WHERE origin = $1 AND id IN (SELECT id FROM winners)';

/**
 * After their new contents are in: takes back the state made of the old ones, and leaves in `refolded` the events it is to be made
 * of anew, all that are about the same websets and objects. What an event said may have been the newest of some object and be so
 * no longer.
 */
export async function takeBack(tx: EventTransaction, dialect: EventDialect, origin: string): Promise<void> {
  await tx.run(`INSERT INTO touched ${about}`, [origin]);
  await tx.run(
    dialect.temp(
      'refolded',
      `SELECT id FROM events WHERE origin = $1
         AND (webset_id IN (SELECT webset_id FROM touched) OR object_id IN (SELECT object_id FROM touched))`,
    ),
    [origin],
  );
  for (const { name } of [...stateTables, ...partTables]) {
    await tx.run(`DELETE FROM ${name} WHERE origin = $1 AND event_id IN (SELECT id FROM winners)`, [origin]);
  }
}
