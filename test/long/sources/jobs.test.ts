import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startCommand } from '../../support/cli/command.js';
import { openJob, surroundings } from '../../support/jobs/command.js';
import { plainRows } from '../../support/jobs/folder.js';
import { killAllOf } from '../../support/jobs/processes.js';
import { openSetting } from '../../support/jobs/setting.js';
import { openTemporal } from '../../support/temporal.js';
import { readDuckDb, runInDuckDb } from '../../support/warehouse/read-duckdb.js';

const here = surroundings(openTemporal, { failureRate: 0, textBytes: 100 });

/** A table of most types; `city` has NULL, an empty text and texts. */
const table = (
  rows: number,
) => `SELECT 'https://site-' || i || '.example/' AS url, i::INTEGER AS n, (i * 1.5)::DECIMAL(12,3) AS price, i / 8 AS ratio, (i / 3)::FLOAT AS single,
  i % 2 = 0 AS even, DATE '2024-02-28' + (i % 100)::INTEGER AS day, TIMESTAMP '2024-02-28 10:00:00.5' + to_hours(i) AS moment,
  {'a': i, 'b': ['x', NULL]} AS parts, CASE i % 3 WHEN 0 THEN NULL WHEN 1 THEN '' ELSE 'Zürich' END AS city FROM range(${rows}) t(i)`;

it('a table is bought once as CSV, JSON Lines, Parquet and DuckDB, and its types come out as they went in', async () => {
  const { folder, run, bought } = openJob(here, []);
  const at = (name: string) => join(folder.dir, name);
  await runInDuckDb(
    at('x.duckdb'),
    `CREATE TABLE rows AS ${table(60)}`,
    `COPY (FROM rows) TO '${at('a.csv')}'`,
    `COPY (FROM rows) TO '${at('a.parquet')}'`,
    `COPY (FROM rows) TO '${at('a.jsonl')}' (FORMAT json)`,
  );
  const sources = {
    csv: { input: at('a.csv') },
    json: { input: at('a.jsonl') },
    parquet: { input: at('a.parquet') },
    from_table: { input: at('x.duckdb'), table: 'rows' },
    from_query: { input: at('x.duckdb'), sql: 'SELECT * FROM rows ORDER BY n' },
  };
  const read: Record<string, unknown> = {};
  const types: Record<string, unknown> = {};
  for (const [job, source] of Object.entries(sources)) {
    const { plan, summary } = await run({ ...source, job, csv: null });
    expect([job, plan.toBuy]).toEqual([job, job === 'csv' ? 60 : 0]);
    expect(summary?.warehouse).toMatchObject({ success: 60, missing: 0 });
    const columns = 'url, n, price, ratio, single, even, day, moment, city';
    read[job] = await folder.query(
      `SELECT ${columns.replaceAll(/\w+/g, 'CAST($& AS VARCHAR) AS $&')} FROM "${job}" ORDER BY row_number`,
    );
    types[job] = await folder.query(`SELECT column_name AS c, column_type AS t FROM (DESCRIBE "${job}") LIMIT 10`);
  }
  expect(bought()).toBe(60);
  const [expected] = [read.parquet as Record<string, unknown>[]];
  expect(read.from_table).toEqual(expected);
  expect(read.from_query).toEqual(expected);
  // DuckDB writes no zeros at the end of a decimal into JSON, and no NULL into a CSV.
  const without = (rows: unknown, ...names: string[]) =>
    (rows as Record<string, unknown>[]).map((row) =>
      Object.fromEntries(Object.entries(row).filter(([name]) => !names.includes(name))),
    );
  expect(without(read.json, 'price')).toEqual(without(expected, 'price'));
  expect(without(read.csv, 'city')).toEqual(without(expected, 'city'));
  expect(types.from_query).toEqual(types.parquet);
  expect((types.parquet as { t: string }[]).map(({ t }) => t)).toEqual([
    'VARCHAR',
    'INTEGER',
    'DECIMAL(12,3)',
    'DOUBLE',
    'FLOAT',
    'BOOLEAN',
    'DATE',
    'TIMESTAMP',
    'STRUCT(a BIGINT, b VARCHAR[])',
    'VARCHAR',
  ]);
  const cities = expected.slice(0, 3).map(({ city }) => city);
  expect(cities).toEqual([null, '', 'Zürich']);
});

it('new, changed and vanished rows of a query are those of its table; other SQL under the same name is refused', async () => {
  const { folder, run, bought } = openJob(here, []);
  const input = join(folder.dir, 'x.duckdb');
  const source = { input, sql: 'SELECT * FROM rows ORDER BY n', job: 'query', csv: null };
  await runInDuckDb(input, `CREATE TABLE rows AS ${table(20)}`);
  await run(source);
  await runInDuckDb(
    input,
    'DELETE FROM rows WHERE n < 5',
    `INSERT INTO rows ${table(23)} OFFSET 20`,
    "UPDATE rows SET city = 'Rome' WHERE n = 7",
  );
  const { plan, summary } = await run({ ...source, sql: ' SELECT *\n  FROM rows ORDER BY n;' });
  expect(plan).toMatchObject({ status: 'changed', toBuy: 3 });
  expect(summary?.warehouse).toMatchObject({ rows: 18, success: 18, vanished: 6 });
  expect(bought()).toBe(23);
  await expect(run({ ...source, sql: 'SELECT * FROM rows WHERE n > 1' })).rejects.toThrow(
    'The job query already exists for the SQL "SELECT * FROM rows ORDER BY n". Use another --job name for the SQL "SELECT * FROM rows WHERE n > 1"',
  );
  await expect(run({ ...source, job: null })).rejects.toThrow('A job that reads a query needs a name');
});

it('a job reads the view of an earlier job in the warehouse that it loads into', async () => {
  const { folder, run } = openJob(here, plainRows(10));
  await run({ job: 'first' });
  const sql = "SELECT name, title FROM first WHERE status = 'success' ORDER BY name";
  const request = { operation: 'search', template: { query: '{{title}} {{name}}' } } as const;
  const { summary } = await run({ ...request, input: folder.into, sql, job: 'second', csv: null });
  expect(summary).toMatchObject({ phase: 'done', warehouse: { success: 10 } });
  expect((await run({ ...request, input: folder.into, sql, job: 'second', csv: null })).plan.status).toBe('complete');
});

it('a workflow reads a query again with each run, and only files that the worker allows', async () => {
  const setting = await openSetting(here.temporal);
  onTestFinished(() => setting.close());
  const { folder } = openJob(here, []);
  const { dir } = folder;
  await runInDuckDb(join(dir, 'x.duckdb'), `CREATE TABLE rows AS ${table(5)}`);
  const begin = (input: object) => setting.begin([], { urlColumn: 'url', ...input });
  const query = { input: join(dir, 'x.duckdb'), sql: 'FROM rows ORDER BY n', job: 'query' };
  expect(await (await begin(query)).result()).toMatchObject({ phase: 'done', warehouse: { success: 5 } });
  await runInDuckDb(join(dir, 'x.duckdb'), `INSERT INTO rows ${table(7)} OFFSET 5`);
  expect(await (await begin(query)).result()).toMatchObject({ phase: 'done', warehouse: { success: 7 } });
  mkdirSync(join(dir, 'parts'));
  writeFileSync(join(dir, 'parts', 'a.csv'), 'url\nhttps://a.example/\n');
  symlinkSync('/etc/hosts', join(dir, 'parts', 'b.csv'));
  const refusals: [input: object, why: RegExp][] = [
    [{ input: join(dir, 'parts') }, /may not use \/etc\/hosts/],
    [{ input: join(dir, 'parts', '*.csv') }, /may not use \/etc\/hosts/],
    [{ input: 's3://bucket/x.csv' }, /may not read from s3:\/\/bucket/],
    [{ input: 'https://data.example.com/x.csv' }, /may not read from data\.example\.com:443/],
    [{ input: 'https://user:canary@data.example.com/x.csv' }, /password|secret/i],
    [{ ...query, sql: "FROM read_csv('/etc/hosts')" }, /already exists for the SQL/],
    [{ ...query, job: 'other', sql: "FROM read_csv('/etc/hosts')" }, /may read only tables and views/],
    [{ ...query, job: 'other', sql: 'DROP TABLE rows' }, /must be one SELECT/],
    [{ ...query, format: 'xlsx' }, /format/],
  ];
  for (const [input, why] of refusals)
    await expect((await begin(input)).result(), JSON.stringify(input)).rejects.toMatchObject({
      cause: { type: 'BadInput', message: expect.stringMatching(why), nonRetryable: true },
    });
});

it('a command that is killed while it stages leaves nothing that hinders the same command', async () => {
  const { folder, run, bought } = openJob(here, []);
  const input = join(folder.dir, 'x.parquet');
  await runInDuckDb(':memory:', `COPY (${table(60_000)}) TO '${input}'`);
  const args = ['enrich', input, '--into', folder.into, '--dry-run'];
  const env = { SEARCHFLOW_STATE_DIR: folder.stateDir, XDG_STATE_HOME: folder.dir };
  const command = startCommand(args, { cwd: folder.dir, env });
  const drafts = () => {
    const all = readdirSync(folder.stateDir, { recursive: true, encoding: 'utf8' });
    return all.filter((name) => name.includes('draft-') && name.endsWith('.jsonl.gz'));
  };
  await expect.poll(() => (folder.stateDir ? drafts().length : 0), { timeout: 60_000, interval: 5 }).toBeGreaterThan(0);
  killAllOf(folder.stateDir);
  await command.ended;
  const { plan } = await run({ input, limit: 10, csv: null });
  expect(plan.staged).toMatchObject({ rows: 60_000, badRows: 0 });
  expect(bought()).toBe(10);
  expect(await readDuckDb(folder.into, 'SELECT count(*)::INTEGER AS n FROM row_store')).toEqual([{ n: 10 }]);
});
