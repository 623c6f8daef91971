import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type DuckDBConnection, DuckDBInstance, DuckDBTimestampValue } from '@duckdb/node-api';
import { Warehouse } from '../../../src/warehouse/duckdb/warehouse.js';
import { openWarehouse } from '../../../src/warehouse/index.js';
import type { LoadedElsewhere } from '../../suites/rows-contract.js';
import type { QueryResult } from '../../suites/warehouse-under-test.js';
import { placeEmptyWarehouse } from './empty-warehouse.js';
import { pgResult } from './pg-query.js';

/** Starts a process that loads batches into the warehouse at this address. */
const loader = (address: string) => (batchesFile: string) =>
  spawn(process.execPath, [fileURLToPath(new URL('loader.mjs', import.meta.url)), address, batchesFile]);

/** Queries a warehouse file that is closed. */
export async function queryDuckDb(file: string, sql: string): Promise<QueryResult> {
  const instance = await DuckDBInstance.fromCache(file);
  const connection = await instance.connect();
  try {
    return await resultOf(connection, sql);
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

async function resultOf(connection: DuckDBConnection, sql: string): Promise<QueryResult> {
  const reader = await connection.runAndReadAll(sql);
  const names = reader.columnNames();
  const json = names.map((_, index) => reader.columnType(index).alias === 'JSON');
  const plain = (value: unknown, index: number) => {
    if (json[index]) return value === null ? null : JSON.parse(String(value));
    if (value instanceof DuckDBTimestampValue) return new Date(Number(value.micros / 1000n));
    return typeof value === 'bigint' ? Number(value) : value;
  };
  return { names, rows: reader.getRows().map((row) => row.map(plain)) };
}

/** A new warehouse in a DuckDB file of this folder. */
export function duckDbUnderTest(dir: string): LoadedElsewhere {
  const file = placeEmptyWarehouse(join(dir, 'warehouse.duckdb'));
  const warehouse = openWarehouse(file);
  return {
    ...warehouse,
    // The open file is queried: each other way to open it takes a tenth of a second.
    query: (sql) => Warehouse.at(file).use((connection) => resultOf(connection, sql), [], { reads: true }),
    spawnLoader: loader(file),
    nul: '\0',
  };
}

/** A new warehouse in the PostgreSQL schema of this address. */
export function postgresUnderTest(url: string): LoadedElsewhere {
  return {
    ...openWarehouse(url),
    query: (sql) => pgResult(url, sql),
    spawnLoader: loader(url),
    nul: '\\u0000',
  };
}
