import type { DuckDBConnection } from '@duckdb/node-api';
import { WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import { baselineOf, MIGRATIONS_TABLE, migrationsComments } from '../../postgres/migrations-table.js';
import { checkTables, createSchema, renewSchema, schemaName } from '../schema.js';
import { inTransaction } from '../shared/in-transaction.js';
import { duckDbDialect } from './dialect.js';
import { transactionOf } from './transaction.js';

const BASELINE = baselineOf('warehouse');
const CURRENT = schemaName(duckDbDialect);

/**
 * Creates all tables in a new file, and brings those of an existing file to this version, in one transaction: the file has one writer at a
 * time. Then checks the tables. Throws as `appliedSteps` and `checkTables` do.
 */
export async function migrate(connection: DuckDBConnection, file: string): Promise<void> {
  const tx = transactionOf(connection);
  const applied = await appliedSteps(connection, file);
  const steps = applied === null ? [BASELINE, CURRENT] : applied.includes(CURRENT) ? [] : [CURRENT];
  if (steps.length > 0)
    await inTransaction(connection, async () => {
      if (applied === null) await connection.run(everything);
      else await renewSchema(tx);
      for (const step of steps)
        await tx.run(`INSERT INTO ${MIGRATIONS_TABLE} VALUES ($1, ${duckDbDialect.now()})`, [step]);
    });
  await checkTables(tx, file, 'another file');
}

const everything = `CREATE TABLE ${MIGRATIONS_TABLE} (name VARCHAR PRIMARY KEY, applied_at TIMESTAMP NOT NULL);
  ${migrationsComments()}
  ${createSchema(duckDbDialect)}`;

/**
 * The names of the steps that were applied to a file; null if the file has no warehouse yet. Throws `WarehouseUnusable` for a file of a newer
 * version or of another program.
 */
export async function appliedSteps(connection: DuckDBConnection, file: string): Promise<readonly string[] | null> {
  const tables = await connection.runAndReadAll(
    `SELECT 1 FROM duckdb_tables() WHERE schema_name = 'main' AND database_name = current_database() AND table_name = '${MIGRATIONS_TABLE}'`,
  );
  if (tables.currentRowCount === 0) return null;
  const rows = await connection.runAndReadAll(`SELECT name FROM ${MIGRATIONS_TABLE} ORDER BY name`);
  const names = rows.getRowsJson().map(([name]) => String(name));
  const refuse = (why: string) =>
    new WarehouseUnusable('schema-of-another-version', `${file} ${why} into another file`);
  if (!names.includes(BASELINE)) throw refuse('was not created by this version of searchflow. Load');
  const strange = names.filter((name) => !name.startsWith(BASELINE));
  if (strange.length > 0)
    throw refuse(
      `was created by a newer version of searchflow (it has ${strange.join(', ')}): update searchflow, or load`,
    );
  return names;
}
