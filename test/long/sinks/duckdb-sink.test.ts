import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe } from 'vitest';
import { createDuckDbSink } from '../../../src/sinks/index.js';
import { longSinkContract } from '../../support/sinks/sink-contract.js';

const here = fileURLToPath(new URL('../../support/sinks/', import.meta.url));

/** Queries a closed warehouse. */
async function query(file: string, sql: string): Promise<unknown[][]> {
  const instance = await DuckDBInstance.fromCache(file);
  const connection = await instance.connect();
  const reader = await connection.runAndReadAll(sql);
  const rows = reader.getRows().map((row) => row.map((value) => (typeof value === 'bigint' ? Number(value) : value)));
  connection.closeSync();
  instance.closeSync();
  return rows;
}

describe('a DuckDB sink', () => {
  longSinkContract((dir) => {
    const file = join(dir, 'warehouse.duckdb');
    const sink = createDuckDbSink({ file });
    return {
      sink,
      query: async (sql) => {
        await sink.close();
        return query(file, sql);
      },
      spawnLoader: (batchesFile) => spawn(process.execPath, [join(here, 'loader.mjs'), file, batchesFile]),
      release: () => sink.close(),
      nul: '\0',
    };
  });
});
