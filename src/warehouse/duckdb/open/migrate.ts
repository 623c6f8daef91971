import type { DuckDBConnection } from '@duckdb/node-api';
import { WarehouseUnusable } from '../../../core/rows/row-warehouse.js';
import { MIGRATIONS_TABLE, migrationsComments } from '../../../postgres/migrations-table.js';
import { duckDbRowDialect } from '../dialect/row-dialect.js';
import { inTransaction } from '../driver/in-transaction.js';
import { type Migration, migrations } from '../migrations/index.js';

/**
 * Migrates the warehouse to the newest schema, each step in one transaction. Throws `WarehouseUnusable` for a warehouse of a newer
 * version.
 */
export async function migrate(connection: DuckDBConnection, file: string): Promise<void> {
  const done = await executed(connection);
  const known = migrations.map(({ name }) => name);
  const strange = done.filter((name) => !known.includes(name));
  if (strange.length > 0) {
    throw new WarehouseUnusable(
      `${file} was created by a newer version of searchflow (it has ${strange.join(', ')}): update searchflow, or load into another file`,
    );
  }
  // The file has one writer at a time, so no other process migrates the file meanwhile.
  for (const step of migrations.filter(({ name }) => !done.includes(name))) {
    await inTransaction(connection, () => run(connection, step));
  }
}

async function executed(connection: DuckDBConnection): Promise<string[]> {
  const tables = await connection.runAndReadAll(
    `SELECT 1 FROM duckdb_tables() WHERE schema_name = 'main' AND database_name = current_database() AND table_name = '${MIGRATIONS_TABLE}'`,
  );
  if (tables.currentRowCount === 0) return [];
  const names = await connection.runAndReadAll(`SELECT name FROM ${MIGRATIONS_TABLE} ORDER BY name`);
  return names.getRowsJson().map((row) => String(row[0]));
}

async function textOf(sql: Exclude<Migration['sql'], string>, connection: DuckDBConnection): Promise<string> {
  const names = await connection.runAndReadAll(duckDbRowDialect.view.namesInUse);
  const taken = new Set(names.getRowsJson().map(([name]) => String(name)));
  if (!taken.has('searchflow_jobs')) return sql(taken, new Set());
  const views = await connection.runAndReadAll('SELECT lower(view_name) FROM searchflow_jobs');
  return sql(taken, new Set(views.getRowsJson().map(([view]) => String(view))));
}

async function run(connection: DuckDBConnection, { name, sql }: Migration): Promise<void> {
  await connection.run(
    `CREATE TABLE IF NOT EXISTS ${MIGRATIONS_TABLE} (name VARCHAR PRIMARY KEY, executed_at TIMESTAMP NOT NULL);
    ${migrationsComments('executed_at')}`,
  );
  await connection.run(typeof sql === 'string' ? sql : await textOf(sql, connection));
  await connection.run(`INSERT INTO ${MIGRATIONS_TABLE} VALUES ($name, make_timestamp_ms($now::BIGINT))`, {
    name,
    now: BigInt(Date.now()),
  });
}
