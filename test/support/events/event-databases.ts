import { join } from 'node:path';
import { DuckDBInstance, DuckDBTimestampValue } from '@duckdb/node-api';
import pg from 'pg';
import { createDuckDbEvents } from '../../../src/warehouse/duckdb/events/duckdb-events.js';
import { createPostgresEvents } from '../../../src/warehouse/postgres/events/postgres-events.js';
import { sharedPostgres } from '../postgres.js';
import { placeEmptyWarehouse } from '../warehouse/empty-warehouse.js';
import type { Contracted } from './event-contract.js';

/** Rows of a query, with JSON columns as values. */
export async function queryDuckDb(file: string, sql: string): Promise<Record<string, unknown>[]> {
  const instance = await DuckDBInstance.fromCache(file);
  const connection = await instance.connect();
  try {
    const reader = await connection.runAndReadAll(sql);
    const json = reader.columnNames().filter((_, index) => reader.columnType(index).alias === 'JSON');
    return reader.getRowObjects().map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => {
          if (json.includes(name)) return [name, value === null ? null : JSON.parse(String(value))];
          if (value instanceof DuckDBTimestampValue) return [name, new Date(Number(value.micros / 1000n))];
          return [name, typeof value === 'bigint' ? Number(value) : value];
        }),
      ),
    );
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** Returns a function that makes an empty event warehouse in a new DuckDB file of the folder. */
export function duckDbEvents(dir: string): () => Promise<Contracted> {
  let files = 0;
  return async () => {
    const file = placeEmptyWarehouse(join(dir, `${++files}.duckdb`));
    const events = createDuckDbEvents({ file });
    return {
      events,
      nul: '\u0000',
      query: async (sql) => {
        await events.close();
        return queryDuckDb(file, sql);
      },
    };
  };
}

/** Makes empty event warehouses, each in a new schema of one database on the run's PostgreSQL. */
export async function postgresEvents(): Promise<{ make(): Promise<Contracted>; close(): Promise<void> }> {
  const database = await sharedPostgres().database('events');
  const client = new pg.Client(database);
  // PostgreSQL returns counts as text, because they may be too large for a number.
  client.setTypeParser(20, Number);
  await client.connect();
  let schemas = 0;
  return {
    async make() {
      const schema = `events_${++schemas}`;
      return {
        events: createPostgresEvents(`${database}?schema=${schema}`),
        nul: '\\u0000',
        query: async (sql) => {
          await client.query(`SET search_path = '${schema}'`);
          return (await client.query(sql)).rows;
        },
      };
    },
    close: () => client.end(),
  };
}
