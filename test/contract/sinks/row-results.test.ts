import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { beforeAll, describe } from 'vitest';
import { createDuckDbSink, createPostgresSink } from '../../../src/sinks/index.js';
import { sharedPostgres } from '../../support/postgres.js';
import { pgQuery } from '../../support/sinks/pg-query.js';
import { resultContract } from '../../support/sinks/result-contract.js';

describe('in a DuckDB file, results of', () => {
  resultContract((dir) => {
    const file = join(dir, 'warehouse.duckdb');
    const sink = createDuckDbSink({ file });
    return {
      sink,
      async query(sql) {
        await sink.close();
        const instance = await DuckDBInstance.fromCache(file);
        const connection = await instance.connect();
        const rows = (await connection.runAndReadAll(sql)).getRows();
        connection.closeSync();
        instance.closeSync();
        return rows.map((row) => row.map((value) => (typeof value === 'bigint' ? Number(value) : value)));
      },
    };
  });
});

describe('in PostgreSQL, results of', () => {
  let database: string;
  let schemas = 0;
  beforeAll(async () => {
    database = await sharedPostgres().database();
  });

  resultContract(() => {
    const url = `${database}?schema=results_${process.pid}_${++schemas}`;
    return { sink: createPostgresSink({ url }), query: (sql) => pgQuery(url, sql) };
  });
});
