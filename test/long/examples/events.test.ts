import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { sharedPostgres } from '../../support/postgres.js';
import { examplePath as example, runExample } from '../../support/run-example.js';

/** Runs a script of the examples at a higher rate than the default. */
const run = (script: string, more: Record<string, string> = {}) =>
  runExample(script, { SEARCHFLOW_QPS: '100', ...more });

describe.runIf(process.platform !== 'win32')('the examples of webset events', () => {
  it('examples/events-duckdb syncs to DuckDB on the sandbox, and its three queries return rows', async () => {
    const { cwd, out, err, code } = await run('events-duckdb/sync.sh');
    expect([code, err]).toEqual([0, expect.stringContaining('Synced: ')]);
    expect(out).toContain('newest event loaded: ');
    const instance = await DuckDBInstance.create(join(cwd, 'out', 'events.duckdb'), { access_mode: 'READ_ONLY' });
    const connection = await instance.connect();
    const ask = async (question: string) => {
      const sql = readFileSync(example(`events-duckdb/${question}.sql`), 'utf8');
      return (await connection.runAndReadAll(sql)).getRowObjectsJson();
    };
    const growth = await ask('growth');
    expect(growth.length).toBeGreaterThan(3);
    expect(growth.every(({ items, title }) => Number(items) > 0 && title !== null)).toBe(true);
    const weeks = await ask('waiting');
    expect(weeks.length).toBeGreaterThanOrEqual(4);
    expect(weeks.every(({ items, enriched }) => Number(items) >= Number(enriched))).toBe(true);
    expect(weeks.some(({ median_minutes }) => Number(median_minutes) > 0)).toBe(true);
    const searches = await ask('searches');
    expect(searches.map(({ status }) => status)).toEqual(expect.arrayContaining(['completed', 'canceled']));
    connection.closeSync();
    instance.closeSync();
  }, 180_000);

  it('examples/events-postgres backfills and verifies a range in PostgreSQL on the sandbox, and its query returns rows', async () => {
    const server = sharedPostgres();
    const url = await server.database();
    const { err, code } = await run('events-postgres/backfill.sh', { SEARCHFLOW_WAREHOUSE_URL: url });
    expect([code, err]).toEqual([0, expect.stringMatching(/Backfilled [\s\S]*Verified [\s\S]*same contents/)]);
    const client = new pg.Client(url);
    await client.connect();
    onTestFinished(() => client.end());
    const answers = await client.query(readFileSync(example('events-postgres/question.sql'), 'utf8'));
    const { rows } = (answers as unknown as readonly { readonly rows: Record<string, unknown>[] }[])[1] ?? { rows: [] };
    expect(rows.length).toBeGreaterThanOrEqual(4);
    expect(rows.every(({ items, websets }) => Number(items) > 0 && Number(websets) > 0)).toBe(true);
  }, 180_000);
});
