import type { EventDialect, EventTransaction, StagedPages } from './event-sql.js';
import { touch } from './refold.js';

/** Numbers of events to insert in a part. `added`: new events; `changed`: events that replace older contents. */
export interface ChosenCount {
  readonly added: number;
  readonly changed: number;
}

/**
 * Finds the new events among the staged events, and writes the positions of the new events (part, page, n) into `chosen`. The temporary
 * table `came` has the ids and digests of all staged events. An event that exists with the same contents is left out. If the contents
 * differ, the newer version is kept, and an older row is deleted. Versions are compared by updatedAt, then createdAt, then digest, so that
 * the order of loads does not matter. `verifying`: parts that a verification has just read. Contents from these parts always win, and
 * stored contents are hashed again before the comparison.
 */
export async function chooseNew(
  tx: EventTransaction,
  dialect: EventDialect,
  staged: StagedPages,
  origin: string,
  verifying: readonly number[] = [],
): Promise<ReadonlyMap<number, ChosenCount>> {
  const digest = verifying.length > 0 ? dialect.digest('data') : 'digest';
  await tx.run(
    dialect.temp(
      'known',
      `SELECT id, ${digest} AS digest, list_order FROM events WHERE origin = $1 AND id IN (SELECT id FROM came)`,
    ),
    [origin],
  );
  await tx.run(
    dialect.temp(
      'disputed',
      `SELECT id FROM (SELECT id, digest FROM came UNION ALL SELECT id, digest FROM known) b
       GROUP BY id HAVING count(DISTINCT digest) > 1`,
    ),
  );
  await tx.run(
    dialect.temp(
      'chosen',
      `SELECT part, page, n, 0 AS changed FROM (
         SELECT part, page, n, row_number() OVER (PARTITION BY id ORDER BY part, page, n) AS turn FROM came
         WHERE id NOT IN (SELECT id FROM known) AND id NOT IN (SELECT id FROM disputed)) c
       WHERE turn = 1`,
    ),
  );
  const disputes = await tx.rows('SELECT 1 AS found FROM disputed LIMIT 1');
  if (disputes.length > 0) await chooseVersions(tx, dialect, staged, origin, verifying);
  const counts = await tx.rows<{ part: number } & ChosenCount>(
    `SELECT part, CAST(sum(1 - changed) AS INTEGER) AS added, CAST(sum(changed) AS INTEGER) AS changed FROM chosen GROUP BY part`,
  );
  return new Map(counts.map(({ part, added, changed }) => [part, { added, changed }]));
}

/** Chooses one version of each event that has different contents under the same id. */
async function chooseVersions(
  tx: EventTransaction,
  dialect: EventDialect,
  staged: StagedPages,
  origin: string,
  verifying: readonly number[],
): Promise<void> {
  const right = verifying.length > 0 ? `CASE WHEN part IN (${verifying.join(', ')}) THEN 0 ELSE 1 END,` : '';
  const rivals = `SELECT e.id, e.part, e.page, e.n, e.created_at, c.digest, e.data AS o
      FROM (${staged.events(false)}) e JOIN came c ON c.part = e.part AND c.page = e.page AND c.n = e.n
      WHERE c.id IN (SELECT id FROM disputed)
    UNION ALL SELECT id, NULL, NULL, NULL, created_at, digest, data FROM events
      WHERE origin = $1 AND id IN (SELECT id FROM disputed)`;
  const ranked = `SELECT id, part, page, n, row_number() OVER (PARTITION BY id
      ORDER BY ${right} coalesce(updated_at, created_at) DESC NULLS LAST, created_at DESC NULLS LAST, digest DESC,
        part NULLS FIRST, page, n) AS turn
    FROM (${dialect.withFields(`(${rivals})`, [{ name: 'updated_at', path: ['updatedAt'], type: 'time' }])}) r`;
  await tx.run(
    dialect.temp('winners', `SELECT id, part, page, n FROM (${ranked}) w WHERE turn = 1 AND part IS NOT NULL`),
    [origin],
  );
  await tx.run(
    `INSERT INTO chosen SELECT part, page, n, CASE WHEN id IN (SELECT id FROM known) THEN 1 ELSE 0 END FROM winners`,
  );
  await touch(tx, dialect, origin);
  await tx.run('DELETE FROM events WHERE origin = $1 AND id IN (SELECT id FROM winners)', [origin]);
}
