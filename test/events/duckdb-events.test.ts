import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance, DuckDBTimestampValue } from '@duckdb/node-api';
import { afterAll, describe } from 'vitest';
import { createDuckDbEvents } from '../../src/sinks/duckdb/events/duckdb-events.js';
import { eventContract } from './event-contract.js';

const dir = mkdtempSync(join(tmpdir(), 'searchflow-events-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Rows of a query, JSON columns as values. */
async function query(file: string, sql: string): Promise<Record<string, unknown>[]> {
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

describe('events in DuckDB', () => {
  let files = 0;
  eventContract(async () => {
    const file = join(dir, `${++files}.duckdb`);
    const events = createDuckDbEvents({ file });
    return {
      events,
      nul: '\u0000',
      query: async (sql) => {
        await events.close();
        return query(file, sql);
      },
    };
  });
});
