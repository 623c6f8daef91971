import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';
import { createDuckDbRows, createPostgresRows } from '../../../src/warehouse/index.js';
import { placeEmptyWarehouse } from './empty-warehouse.js';
import { pgQuery } from './pg-query.js';
import type { RowsUnderTest } from './rows-contract.js';

/** Starts a process that loads batches into the warehouse at this address. */
const loader = (address: string) => (batchesFile: string) =>
  spawn(process.execPath, [fileURLToPath(new URL('loader.mjs', import.meta.url)), address, batchesFile]);

/** Queries a warehouse file that is closed. */
export async function queryDuckDb(file: string, sql: string): Promise<unknown[][]> {
  const instance = await DuckDBInstance.fromCache(file);
  const connection = await instance.connect();
  const reader = await connection.runAndReadAll(sql);
  const rows = reader.getRows().map((row) => row.map((value) => (typeof value === 'bigint' ? Number(value) : value)));
  connection.closeSync();
  instance.closeSync();
  return rows;
}

/** A new warehouse in a DuckDB file of this folder. */
export function duckDbUnderTest(dir: string): RowsUnderTest {
  const file = placeEmptyWarehouse(join(dir, 'warehouse.duckdb'));
  const warehouse = createDuckDbRows({ file });
  return {
    warehouse,
    query: async (sql) => {
      await warehouse.close();
      return queryDuckDb(file, sql);
    },
    spawnLoader: loader(file),
    release: () => warehouse.close(),
    nul: '\0',
  };
}

/** A new warehouse in the PostgreSQL schema of this address. */
export function postgresUnderTest(url: string): RowsUnderTest {
  const warehouse = createPostgresRows({ url });
  return {
    warehouse,
    query: (sql) => pgQuery(url, sql),
    spawnLoader: loader(url),
    release: async () => undefined,
    nul: '\\u0000',
  };
}
