import type { DuckDBConnection } from '@duckdb/node-api';
import { WarehouseUnusable } from '../../core/rows/row-warehouse.js';
import { differences, type FoundColumn } from '../shared/relation.js';
import { duckDbSql } from './dialect/sql-dialect.js';
import { sqlTransaction } from './driver/sql-transaction.js';
import { tables } from './schema.js';

/** Checks the tables before anything is bought for them. Throws `WarehouseUnusable` with the list of all mistakes. */
export async function checkSchema(connection: DuckDBConnection, file: string): Promise<void> {
  const found = await sqlTransaction(connection).rows<FoundColumn>(
    `SELECT table_name AS "table", column_name AS "column", data_type AS type,
       NOT is_nullable AND column_default IS NULL AS demanding
     FROM duckdb_columns() WHERE schema_name = 'main' AND database_name = current_database()`,
  );
  const wrong = differences(tables, duckDbSql.types, found);
  if (wrong.length === 0) return;
  throw new WarehouseUnusable(
    'warehouse-changed',
    `The tables in ${file} were changed: ${wrong.join('; ')}. Undo that, or load into another file`,
  );
}
