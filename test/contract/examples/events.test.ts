import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';
import pg from 'pg';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { killAllOf } from '../../support/jobs/processes.js';
import { sharedPostgres } from '../../support/postgres.js';
import { fileNamespace } from '../../support/temporal.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const example = (path: string) => join(root, 'examples', path);

/** Runs a script of the examples on the sandbox, in a folder of its own. */
async function run(script: string, more: Record<string, string> = {}) {
  const cwd = mkdtempSync(join(tmpdir(), 'searchflow-example-'));
  const { PATH = '' } = process.env;
  const env = {
    ...{ PATH, HOME: cwd, XDG_STATE_HOME: cwd, SEARCHFLOW_STATE_DIR: join(cwd, 'state') },
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    TEMPORAL_NAMESPACE: fileNamespace(),
    SEARCHFLOW: `${process.execPath} ${join(root, 'dist', 'cli', 'main.js')}`,
    SEARCHFLOW_QPS: '100',
    ...more,
  };
  onTestFinished(() => {
    killAllOf(join(cwd, 'state'));
    rmSync(cwd, { recursive: true, force: true });
  });
  const child = spawn('sh', [example(script)], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { cwd, out, err, code: child.exitCode };
}

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
