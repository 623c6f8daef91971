import type { Differences, StreamKey, Verification, WindowPages } from '../../core/events/event-warehouse.js';
import type { SqlValue } from '../shared/sql.js';
import type { EventDialect, EventTransaction } from './event-sql.js';

/** Maximum number of days in a summary, because a summary is stored in Temporal's history. The table has all days. */
const MOST_DAYS = 366;

/**
 * Records the findings of a verification for a batch. The temporary table `came` has the events of the batch; `chosen` has the events that
 * are inserted.
 */
export async function noteChecks(
  tx: EventTransaction,
  batch: readonly WindowPages[],
  verifying: readonly number[],
): Promise<void> {
  const streams = new Set(verifying.map((part) => batch[part]?.stream as string));
  for (const stream of streams) {
    const parts = verifying.filter((part) => batch[part]?.stream === stream);
    // The first finding is kept, because on a page that is read again every event is already loaded.
    await tx.run(
      `INSERT INTO event_checks (origin, stream, id, outcome)
       SELECT $1, $2, c.id, min(CASE WHEN h.changed = 0 THEN 'missing' WHEN h.changed = 1 THEN 'changed' ELSE 'same' END)
       FROM came c LEFT JOIN chosen h ON h.part = c.part AND h.page = c.page AND h.n = c.n
       WHERE c.part IN (${parts.join(', ')})
         AND NOT EXISTS (SELECT 1 FROM event_checks k WHERE k.origin = $1 AND k.stream = $2 AND k.id = c.id)
       GROUP BY c.id`,
      [batch[0]?.origin as string, stream],
    );
  }
}

const ofStream = 'origin = $1 AND stream = $2';

/**
 * Records the events that the service no longer returns as `gone`, deletes the findings `same`, and counts the other findings. Only events
 * that were loaded before the verification began can be gone: a later event may have appeared where the cursor had already passed.
 */
export async function sumUpChecks(
  tx: EventTransaction,
  dialect: EventDialect,
  { origin, stream }: StreamKey,
): Promise<Verification> {
  const [run] = await tx.rows<{ types: string; summed: number }>(
    `SELECT types, CASE WHEN checked_at IS NULL THEN 0 ELSE 1 END AS summed FROM event_streams WHERE ${ofStream}`,
    [origin, stream],
  );
  if (run && !run.summed) {
    const types = JSON.parse(run.types) as readonly string[];
    const only = types.length === 0 ? '' : `AND e.type IN (${types.map((_, index) => `$${index + 3}`).join(', ')})`;
    await tx.run(
      `INSERT INTO event_checks (origin, stream, id, outcome)
       SELECT e.origin, s.stream, e.id, 'gone' FROM events e JOIN event_streams s ON s.origin = e.origin
       WHERE s.origin = $1 AND s.stream = $2 AND (s.run_from IS NULL OR e.created_at >= s.run_from)
         AND e.created_at <= s.run_to AND e.loaded_at < s.began_at ${only}
         AND NOT EXISTS (SELECT 1 FROM event_checks k WHERE k.origin = s.origin AND k.stream = s.stream AND k.id = e.id)`,
      [origin, stream, ...types],
    );
    await tx.run(`DELETE FROM event_checks WHERE ${ofStream} AND outcome = 'same'`, [origin, stream]);
    await tx.run(`UPDATE event_streams SET checked_at = ${dialect.moment('$3')} WHERE ${ofStream}`, [
      origin,
      stream,
      Date.now(),
    ]);
  }
  return counted(tx, dialect, [origin, stream]);
}

async function counted(tx: EventTransaction, dialect: EventDialect, key: readonly SqlValue[]): Promise<Verification> {
  const count = (outcome: keyof Differences) =>
    `CAST(count(CASE WHEN c.outcome = '${outcome}' THEN 1 END) AS INTEGER) AS ${outcome}`;
  const counts = [count('missing'), count('changed'), count('gone')].join(', ');
  const from =
    'FROM event_checks c JOIN events e ON e.origin = c.origin AND e.id = c.id WHERE c.origin = $1 AND c.stream = $2';
  const [all] = await tx.rows<Differences>(`SELECT ${counts} ${from}`, key);
  const days = await tx.rows<Differences & { day: string }>(
    `SELECT CAST(${dialect.day('e.created_at')} AS ${dialect.types.text}) AS day, ${counts} ${from}
     AND e.created_at IS NOT NULL GROUP BY 1 ORDER BY 1 LIMIT ${MOST_DAYS}`,
    key,
  );
  return { missing: 0, changed: 0, gone: 0, ...all, days };
}
