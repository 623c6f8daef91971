import type { ErrorCode } from '../core/errors/registry.js';
import { identifier } from './identifier.js';
import { baselineOf, MIGRATIONS_TABLE, migrationsComments, type SchemaKind } from './migrations-table.js';
import type { PgTransaction, Postgres } from './postgres.js';

/** Time limit of one migration. Changing the tables of a large warehouse takes long. */
const MIGRATION_MS = 3_600_000;

/** One step of a schema since the first release. A released step is never changed. */
export interface Migration {
  /** The name begins with a number: `0002-more-prices`. */
  readonly name: string;
  run(tx: PgTransaction, schema: string): Promise<void>;
}

export interface Schema {
  readonly kind: SchemaKind;
  /** Returns the statements that create the newest tables, views and functions in an empty schema. Here and in steps, `schema` is quoted. */
  create(schema: string): string;
  /** All steps since the first release, in order. Append only. */
  readonly migrations: readonly Migration[];
}

/** The schema was not created by this program, or holds something else (`is`). Nothing in the schema was changed. */
export class OtherSchema extends Error {
  readonly errorCode = 'schema-of-another-version' satisfies ErrorCode;
  override readonly name = 'OtherSchema';

  readonly is: SchemaKind | null;

  constructor(schema: string, is: SchemaKind | null) {
    super(is === null ? `${schema} was not created by this version` : `${schema} is a ${is}`);
    this.is = is;
  }
}

/**
 * Brings a schema to the newest version, under a lock that keeps other processes out: creates a missing schema whole, and applies the
 * migrations that an existing schema lacks. Migrations that this version does not know (a newer version has applied them) are left alone.
 * Throws `OtherSchema`.
 */
export async function migrate(postgres: Postgres, wanted: Schema): Promise<void> {
  const { kind, create, migrations } = wanted;
  const schema = identifier(postgres.address.schema);
  const state = await schemaState(postgres, postgres.address.schema, wanted);
  if (state?.missing.length === 0) return;
  await postgres.transaction(
    async (tx) => {
      await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`searchflow migrations ${schema}`]);
      const locked = await schemaState(tx, postgres.address.schema, wanted);
      const record = ({ name }: { readonly name: string }) =>
        tx.query(`INSERT INTO ${schema}.${MIGRATIONS_TABLE} (name) VALUES ($1)`, [name]);
      if (locked === null) {
        const present = await tx.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [postgres.address.schema]);
        // The schema is looked up first, because CREATE … IF NOT EXISTS needs the CREATE privilege even if the schema exists.
        if (present.length === 0) await tx.query(`CREATE SCHEMA ${schema}`);
        await tx.query(`
        CREATE TABLE ${schema}.${MIGRATIONS_TABLE} (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now());
        ${migrationsComments(`${schema}.`)}
        ${create(schema)}`);
        for (const one of [{ name: baselineOf(kind) }, ...migrations]) await record(one);
      }
      for (const migration of locked?.missing ?? []) {
        await migration.run(tx, schema);
        await record(migration);
      }
    },
    { statementMs: MIGRATION_MS },
  );
}

/** Returns the state of a schema, and changes nothing; null if nothing was created yet. Throws `OtherSchema`. */
export async function schemaState(
  tx: Pick<PgTransaction, 'query'>,
  name: string,
  { kind, migrations }: Pick<Schema, 'kind' | 'migrations'>,
) {
  const table = `${identifier(name)}.${MIGRATIONS_TABLE}`;
  // The catalog is read, because `to_regclass` may not see yet what another process committed while this process waited for the lock.
  const present = await tx.query(
    'SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE nspname = $1 AND relname = $2',
    [name, MIGRATIONS_TABLE],
  );
  if (present.length === 0) return null;
  const applied = new Set((await tx.query<{ name: string }>(`SELECT name FROM ${table}`)).map((row) => row.name));
  if (!applied.has(baselineOf(kind))) {
    const other = kind === 'store' ? 'warehouse' : 'store';
    throw new OtherSchema(name, applied.has(baselineOf(other)) ? other : null);
  }
  const isKnown = (name: string) => name.startsWith(baselineOf(kind)) || migrations.some((one) => one.name === name);
  return {
    /** Migrations that the schema lacks. */
    missing: migrations.filter((one) => !applied.has(one.name)),
    /** Names of migrations that a newer version has applied. */
    newer: [...applied].filter((one) => !isKnown(one)),
  };
}
