import type { DuckDBConnection } from '@duckdb/node-api';
import { WarehouseUnusable } from '../../../core/rows/row-warehouse.js';

/** The columns that the statements here need, by table. */
const expected: Readonly<Record<string, string>> = {
  searchflow_jobs:
    'job VARCHAR, name VARCHAR, view_name VARCHAR, origin VARCHAR, operation VARCHAR, input VARCHAR, columns VARCHAR[], ' +
    'generation VARCHAR, options JSON, rows BIGINT, slices INTEGER, created_at TIMESTAMP, opened_at TIMESTAMP, request JSON',
  row_store:
    'job VARCHAR, origin VARCHAR, generation VARCHAR, slice INTEGER, row_number BIGINT, row_hash VARCHAR, unit_key VARCHAR, ' +
    'url VARCHAR, input VARCHAR[], status VARCHAR, error_tag VARCHAR, error_message VARCHAR, http_status INTEGER, ' +
    'source VARCHAR, title VARCHAR, author VARCHAR, published_date VARCHAR, response JSON, ' +
    'request_id VARCHAR, cost_micros BIGINT, fetched_at TIMESTAMP, ' +
    'loaded_at TIMESTAMP, outdated_at TIMESTAMP, vanished_at TIMESTAMP',
  load_ledger: 'job VARCHAR, generation VARCHAR, slice INTEGER, rows BIGINT, attempt VARCHAR, loaded_at TIMESTAMP',
  unknown_outcomes:
    'job VARCHAR, id VARCHAR, book VARCHAR, operation VARCHAR, unit_keys VARCHAR[], intended_at TIMESTAMP, reason VARCHAR, ' +
    'estimate_micros BIGINT, recorded_at TIMESTAMP',
  searchflow_runs:
    'job VARCHAR, run VARCHAR, scheduled BOOLEAN, generation VARCHAR, started_at TIMESTAMP, ended_at TIMESTAMP, phase VARCHAR, ' +
    'reason VARCHAR, message VARCHAR, rows BIGINT, success BIGINT, error BIGINT, invalid BIGINT, missing BIGINT, ' +
    'vanished BIGINT, requests BIGINT, cost_micros BIGINT',
};

/**
 * Checks the tables before anything is bought for them. A column that a person added is accepted, unless it is NOT NULL without
 * a default. Throws `WarehouseUnusable` with the list of all mistakes.
 */
export async function checkSchema(connection: DuckDBConnection, file: string): Promise<void> {
  const reader = await connection.runAndReadAll(
    `SELECT table_name, column_name, data_type, is_nullable, column_default FROM duckdb_columns()
     WHERE schema_name = 'main' AND database_name = current_database()
       AND table_name IN (${Object.keys(expected)
         .map((table) => `'${table}'`)
         .join(', ')})`,
  );
  const found = new Map<string, string>();
  const wrong: string[] = [];
  for (const [table, column, type, nullable, preset] of reader.getRows()) {
    const name = `${table}.${column}`;
    found.set(name, String(type));
    const ours = columnsOf(String(table)).some(([known]) => known === column);
    if (!ours && nullable === false && preset === null)
      wrong.push(`${name} is NOT NULL without a default and is not written by searchflow`);
  }
  for (const table of Object.keys(expected)) {
    const missing = columnsOf(table).filter(([column]) => !found.has(`${table}.${column}`));
    if (missing.length === columnsOf(table).length) wrong.push(`the table ${table} is missing`);
    else wrong.push(...missing.map(([column]) => `${table}.${column} is missing`));
    for (const [column, type] of columnsOf(table)) {
      const actual = found.get(`${table}.${column}`);
      if (actual !== undefined && actual !== type) wrong.push(`${table}.${column} is ${actual} instead of ${type}`);
    }
  }
  if (wrong.length === 0) return;
  throw new WarehouseUnusable(
    `The tables in ${file} were changed: ${wrong.join('; ')}. Undo that, or load into another file`,
  );
}

function columnsOf(table: string): [column: string, type: string][] {
  return (expected[table] as string).split(', ').map((text) => text.split(' ') as [string, string]);
}
