import { identifier } from './identifier.js';
import { MIGRATIONS_TABLE, migrationsComments } from './migrations-table.js';
import type { PgTransaction, Postgres } from './postgres.js';

/** Time limit of one migration. Changing the tables of a large warehouse takes long. */
const MIGRATION_MS = 3_600_000;

/** One step of a schema. A released step is never changed. */
export interface Migration {
  /** The name begins with a number: `0001-journal`. */
  readonly name: string;
  /** Returns the statements; `schema` is already quoted. */
  sql(schema: string): string;
}

/**
 * Applies the migrations that a schema lacks, under a lock that keeps other processes out. Creates the schema if it is missing. Migrations
 * that this version does not know (a newer version has applied them) are left alone.
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
      // The schema is looked up first, because CREATE … IF NOT EXISTS needs the CREATE privilege even if the schema exists.
      if (present.length === 0) await tx.query(`CREATE SCHEMA ${schema}`);
      // The comments are written only for a new table, because only the owner of a table may comment on it.
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
