import { identifier } from './identifier.js';
import type { Postgres } from './postgres.js';

/** Time limit of the VACUUM of one table, in ms. */
const LONG_MS = 600_000;

/** Vacuums tables of the schema; returns why that failed, as a sentence without a dot, or null. */
export async function vacuum(postgres: Postgres, tables: readonly string[]): Promise<string | null> {
  const schema = identifier(postgres.address.schema);
  const failed: string[] = [];
  for (const table of tables) {
    // Only the owner of a table may vacuum it; for others PostgreSQL skips the table with a warning.
    const [owned] = await postgres.query<{ may: boolean }>(
      `SELECT coalesce(pg_has_role(relowner, 'USAGE'), false) AS may FROM pg_class
       WHERE oid = to_regclass($1)`,
      [`${schema}.${identifier(table)}`],
    );
    if (owned?.may === false) failed.push(table);
    else if (owned)
      await postgres
        .query(`VACUUM ${schema}.${identifier(table)}`, [], { isCall: true, statementMs: LONG_MS })
        .catch(() => failed.push(table));
  }
  if (failed.length === 0) return null;
  return `VACUUM of ${failed.map((table) => `${postgres.address.schema}.${table}`).join(', ')} failed, so the bytes of removed rows stay in the database until its next VACUUM`;
}
