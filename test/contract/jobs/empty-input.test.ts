import { readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { databaseSource } from '../../../dist/worker/config/database-setting.js';
import { openJob, surroundings } from '../../support/jobs/command.js';
import { plainRows } from '../../support/jobs/folder.js';
import { sharedPostgres } from '../../support/postgres.js';
import { openTemporal } from '../../support/temporal.js';

const here = surroundings(openTemporal, { failureRate: 0, textBytes: 100 });

it('a CSV that has only its header left marks all rows as vanished, and rows that come back are not bought again', async () => {
  const rows = plainRows(3);
  const { folder, run, bought } = openJob(here, rows);
  await run();
  folder.write([]);
  const header = readFileSync(folder.input, 'utf8');
  const { plan, summary } = await run();
  expect(plan).toMatchObject({
    status: 'changed',
    toBuy: 0,
    notes: ['The input has no rows: all 3 rows of the last run are marked as vanished, and kept.'],
  });
  expect(summary).toMatchObject({ phase: 'done', requests: 0, warehouse: { rows: 0, success: 0, vanished: 3 } });
  expect(await folder.query(`SELECT count(*)::INTEGER AS n FROM "${plan.staged.name}"`)).toEqual([{ n: 0 }]);
  expect(readFileSync(folder.csv, 'utf8').split('\n')).toEqual([expect.stringContaining(header.trim()), '']);
  expect((await run()).plan).toMatchObject({ status: 'complete', notes: ['The input has no rows.'] });
  folder.write(rows);
  expect((await run()).summary?.warehouse).toMatchObject({ rows: 3, success: 3, vanished: 0 });
  expect(bought()).toBe(3);
  writeFileSync(folder.input, '');
  await expect(run()).rejects.toThrow('The input is empty: it has no header and no rows');
  writeFileSync(folder.input, header);
  await expect(run({ job: 'another' })).rejects.toThrow(
    `${basename(folder.input)}: The input has a header, but no rows`,
  );
});

it('a table of PostgreSQL that was emptied marks all rows as vanished in a PostgreSQL warehouse', async () => {
  const url = await sharedPostgres().database('emptied');
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(
    "CREATE TABLE public.sites AS SELECT n AS id, 'https://e' || n || '.example/' AS url FROM generate_series(1, 4) n",
  );
  const { run, config, bought } = openJob(here, []);
  Object.assign(config, { source: databaseSource(url), warehouse: databaseSource(url) });
  const input = Object.assign(new URL(url), { username: '', password: '' }).href;
  const source = { input, into: input, sql: 'SELECT * FROM public.sites', job: 'sites', key: ['id'], csv: null };
  await run(source);
  await client.query('DELETE FROM public.sites');
  expect((await run(source)).summary?.warehouse).toMatchObject({ rows: 0, success: 0, vanished: 4 });
  const { rows } = await client.query(
    'SELECT count(*)::int AS n FROM row_store WHERE vanished_at IS NOT NULL AND row_number IS NULL',
  );
  expect(rows).toEqual([{ n: 4 }]);
  await client.query("INSERT INTO public.sites VALUES (2, 'https://e2.example/'), (9, 'https://e9.example/')");
  expect((await run(source)).summary?.warehouse).toMatchObject({ rows: 2, success: 2, vanished: 3 });
  expect(bought()).toBe(5);
});
