import { MIGRATIONS_TABLE, migrationsComments } from '../core/text/migrations-table.js';
import { identifier } from './identifier.js';
import type { PgTransaction, Postgres } from './postgres.js';

/** Tables of a large warehouse take long to be changed. */
const MIGRATION_MS = 3_600_000;

/** A step of a schema, never changed once it was released. */
export interface Migration {
  /** Numbered: `0001-journal`. */
  readonly name: string;
  /** The statements; `schema` is quoted already. */
  sql(schema: string): string;
}

/**
 * Brings a schema to where these migrations say, once for all processes that ask at the same time. The schema is made where
 * it is missing. Migrations that this version doesn't know (a newer one was here) are left alone.
 */
export async function migrate(postgres: Postgres, migrations: readonly Migration[]): Promise<void> {
  const schema = identifier(postgres.address.schema);
  if (await hasTable(postgres, schema)) {
    const missing = await missingOf(postgres, schema, migrations);
    if (missing.length === 0) return;
  }
  await postgres.transaction(
    async (tx) => {
      await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`searchflow migrations ${schema}`]);
      const present = await tx.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [postgres.address.schema]);
      // Asked first, because CREATE … IF NOT EXISTS wants the right to create even where nothing is to be made.
      if (present.length === 0) await tx.query(`CREATE SCHEMA ${schema}`);
      // Only its owner may comment on it.
      if (!(await hasTable(tx, schema))) {
        await tx.query(`
        CREATE TABLE ${schema}.${MIGRATIONS_TABLE} (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now());
        ${migrationsComments('applied_at', `${schema}.`)}`);
      }
      for (const migration of await missingOf(tx, schema, migrations)) {
        await tx.query(migration.sql(schema));
        await tx.query(`INSERT INTO ${schema}.${MIGRATIONS_TABLE} (name) VALUES ($1)`, [migration.name]);
      }
    },
    { statementMs: MIGRATION_MS },
  );
}

async function hasTable(tx: Pick<PgTransaction, 'query'>, schema: string): Promise<boolean> {
  const table = `${schema}.${MIGRATIONS_TABLE}`;
  const [row] = await tx.query<{ present: boolean }>('SELECT to_regclass($1) IS NOT NULL AS present', [table]);
  return row?.present ?? false;
}

async function missingOf(
  tx: Pick<PgTransaction, 'query'>,
  schema: string,
  migrations: readonly Migration[],
): Promise<Migration[]> {
  const rows = await tx.query<{ name: string }>(`SELECT name FROM ${schema}.${MIGRATIONS_TABLE}`);
  const applied = new Set(rows.map(({ name }) => name));
  return migrations.filter(({ name }) => !applied.has(name));
}
