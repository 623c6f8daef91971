import { execFileSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it } from 'vitest';
import type { RunRecord } from '../../../src/core/rows/row-warehouse.js';
import { openWarehouse } from '../../../src/warehouse/index.js';
import { runJob, Service, stageText } from '../../suites/row-job.js';
import { folderOfFile } from '../../support/files/folders.js';
import { runExample } from '../../support/run-example.js';
import { readDuckDb } from '../../support/warehouse/read-duckdb.js';

const packages = ['dbt-core<1.12', 'dbt-duckdb==1.10.1', 'duckdb==1.5.5'];
const dir = folderOfFile();
const project = join(dir, 'project');
const database = join(dir, 'dbt.duckdb');
const warehouse = join(dir, 'warehouse.duckdb');

/** Runs dbt in a copy of the example; returns its log. Rejects if dbt fails. */
function dbt(...args: string[]): string {
  return dbtIn(project, warehouse, ...args);
}

function dbtIn(cwd: string, warehouse: string, ...args: string[]): string {
  return execFileSync(join(dir, 'venv', 'bin', 'dbt'), [...args, '--no-use-colors'], {
    cwd,
    encoding: 'utf8',
    env: {
      ...process.env,
      DBT_PROFILES_DIR: cwd,
      DBT_DATABASE: join(cwd, '..', 'dbt.duckdb'),
      SEARCHFLOW_WAREHOUSE: warehouse,
    },
  });
}

beforeAll(async () => {
  execFileSync('python3', ['-m', 'venv', join(dir, 'venv')]);
  execFileSync(join(dir, 'venv', 'bin', 'python'), ['-m', 'pip', 'install', '-q', ...packages]);
  cpSync(fileURLToPath(new URL('../../../examples/dbt', import.meta.url)), project, { recursive: true });
  const { rows, close } = openWarehouse(warehouse);
  const answer = new Service((url) => (url.includes('b.com') ? { status: 'error', error_tag: 'CRAWL_NOT_FOUND' } : {}));
  await runJob(dir, rows, await stageText(dir, 'name,url\na,https://a.com/\nb,https://b.com/\nc,nope\n'), answer);
  const now = Date.now();
  const run: RunRecord = {
    ...{ job: 'brands-1', run: 'r1', scheduled: true, generation: 'g', phase: 'done', reason: null, message: null },
    ...{ rows: 3, success: 1, error: 1, invalid: 1, missing: 0, vanished: 0 },
    ...{ requests: 2, costMicros: 2000, startedAt: now - 3_600_000, endedAt: now - 3_000_000 },
  };
  await rows.recordRun(run);
  await rows.recordRun({ ...run, run: 'r2', endedAt: now });
  await close();
}, 600_000);

it('the dbt project of the examples builds its models on a warehouse, and its tests pass', async () => {
  const log = dbt('build');
  expect(log).toMatch(/PASS=\d+ WARN=0 ERROR=0 SKIP=0/);
  expect(log).not.toMatch(/deprecat/i);
  const read = (sql: string) => readDuckDb(database, sql);
  expect(await read('SELECT job, run, phase, schema_changed FROM latest_runs')).toEqual([
    { job: 'brands-1', run: 'r2', phase: 'done', schema_changed: false },
  ]);
  expect(await read('SELECT row_number::INT AS row, status, problem FROM rows_to_check ORDER BY 1')).toEqual([
    { row: 2, status: 'error', problem: 'CRAWL_NOT_FOUND' },
    { row: 3, status: 'invalid', problem: 'INVALID_URL' },
  ]);
  expect(await read('SELECT sum(rows)::INT AS rows FROM daily_spend')).toEqual([{ rows: 2 }]);
}, 120_000);

it('dbt reads the freshness of the runs', () => {
  expect(dbt('source', 'freshness')).toMatch(/PASS freshness of searchflow\.searchflow_runs/);
}, 120_000);

it('the dbt project of events builds its models on a synced warehouse, and its tests pass', async () => {
  const folder = join(dir, 'events');
  const copy = join(folder, 'project');
  cpSync(fileURLToPath(new URL('../../../examples/events-dbt', import.meta.url)), copy, { recursive: true });
  const { code, err } = await runExample('events-duckdb/sync.sh', {}, folder);
  expect(code, err).toBe(0);
  expect(dbtIn(copy, join(folder, 'out', 'events.duckdb'), 'build')).toMatch(/PASS=\d+ WARN=0 ERROR=0 SKIP=0/);
  const read = (sql: string) => readDuckDb(join(folder, 'dbt.duckdb'), sql);
  expect(await read('SELECT sum(items) > 0 AS grows FROM webset_growth')).toEqual([{ grows: true }]);
}, 400_000);
