import type { DuckDBConnection } from '@duckdb/node-api';
import { WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import { baselineOf, MIGRATIONS_TABLE, migrationsComments } from '../../postgres/migrations-table.js';
import { createSchema, tablesOf } from '../schema.js';
import { inTransaction } from '../shared/in-transaction.js';
import { differences, type FoundColumn } from '../shared/relation.js';
import { duckDbDialect } from './dialect.js';
import { transactionOf } from './transaction.js';

/** One step of the schema since the first release. A released step is never changed. */
export interface SchemaStep {
  /** The name begins with a number: `0002-more-prices`. */
  readonly name: string;
  readonly sql: string;
}

/** All steps since the first release, in order. Append only. */
export const migrations: readonly SchemaStep[] = [];

const BASELINE = baselineOf('warehouse');

/**
 * Brings the warehouse to the newest schema, and checks it: creates all tables in a new file, and runs the steps that an existing file lacks,
 * each in one transaction. Throws as `missingSteps` and `checkSchema` do.
 */
export async function migrate(connection: DuckDBConnection, file: string): Promise<void> {
  const steps = await missingSteps(connection, file);
  // The file has one writer at a time, so no other process migrates the file meanwhile.
  if (steps === null) await inTransaction(connection, () => create(connection));
  for (const step of steps ?? []) {
    await inTransaction(connection, async () => {
      await connection.run(step.sql);
      await record(connection, step);
    });
  }
  await checkSchema(connection, file);
}

/** Throws `WarehouseUnusable` with all changes of the tables. */
async function checkSchema(connection: DuckDBConnection, file: string): Promise<void> {
  const found = await transactionOf(connection).rows<FoundColumn>(
    `SELECT table_name AS "table", column_name AS "column", data_type AS type,
       NOT is_nullable AND column_default IS NULL AS demanding
     FROM duckdb_columns() WHERE schema_name = 'main' AND database_name = current_database()`,
  );
  const wrong = differences(tablesOf(duckDbDialect), duckDbDialect.types, found);
  if (wrong.length === 0) return;
  throw new WarehouseUnusable(
    'warehouse-changed',
    `The tables in ${file} were changed: ${wrong.join('; ')}. Undo that, or load into another file`,
  );
}

/**
 * The steps that a file lacks; null if the file has no warehouse yet. Throws `WarehouseUnusable` for a file of a newer version or of another
 * program.
 */
export async function missingSteps(connection: DuckDBConnection, file: string): Promise<readonly SchemaStep[] | null> {
  const done = await applied(connection);
  if (done === null) return null;
  if (!done.includes(BASELINE)) {
    throw new WarehouseUnusable(
      'schema-of-another-version',
      `${file} was not created by this version of searchflow. Load into another file`,
    );
  }
  const strange = done.filter((name) => name !== BASELINE && !migrations.some((step) => step.name === name));
  if (strange.length > 0) {
    throw new WarehouseUnusable(
      'schema-of-another-version',
      `${file} was created by a newer version of searchflow (it has ${strange.join(', ')}): update searchflow, or load into another file`,
    );
  }
  return migrations.filter(({ name }) => !done.includes(name));
}

/** The names of the steps that were applied; null if the file has no warehouse yet. */
async function applied(connection: DuckDBConnection): Promise<string[] | null> {
  const tables = await connection.runAndReadAll(
    `SELECT 1 FROM duckdb_tables() WHERE schema_name = 'main' AND database_name = current_database() AND table_name = '${MIGRATIONS_TABLE}'`,
  );
  if (tables.currentRowCount === 0) return null;
  const names = await connection.runAndReadAll(`SELECT name FROM ${MIGRATIONS_TABLE} ORDER BY name`);
  return names.getRowsJson().map((row) => String(row[0]));
}

async function create(connection: DuckDBConnection): Promise<void> {
  await connection.run(
    `CREATE TABLE ${MIGRATIONS_TABLE} (name VARCHAR PRIMARY KEY, applied_at TIMESTAMP NOT NULL);
    ${migrationsComments()}
    ${createSchema(duckDbDialect)}`,
  );
  for (const step of [{ name: BASELINE }, ...migrations]) await record(connection, step);
}

async function record(connection: DuckDBConnection, { name }: Pick<SchemaStep, 'name'>): Promise<void> {
  await connection.run(`INSERT INTO ${MIGRATIONS_TABLE} VALUES ($name, make_timestamp_ms($now::BIGINT))`, {
    name,
    now: BigInt(Date.now()),
  });
}
