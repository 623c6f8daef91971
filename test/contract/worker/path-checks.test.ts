import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import type { EnrichCsvInput } from '../../../src/core/row-job-schemas.js';
import { createWarehouses } from '../../../src/warehouse/index.js';
import { readConfig } from '../../../src/worker/config/config.js';
import { whyPathsRefused } from '../../../src/worker/staging/stage-job.js';
import { folderOfFile } from '../../support/files/folders.js';
import { runInDuckDb } from '../../support/warehouse/read-duckdb.js';

const dir = folderOfFile();
const at = (...names: string[]) => join(dir, ...names);
beforeAll(async () => {
  writeFileSync(at('in.csv'), 'url\nhttps://example.com\n');
  linkSync(at('in.csv'), at('hard.csv'));
  symlinkSync(at('in.csv'), at('soft.csv'));
  symlinkSync(dir, at('folder'));
  symlinkSync(at('nowhere.csv'), at('dangling.csv'));
  mkdirSync(at('out'));
  symlinkSync(at('out', 'in.duckdb'), at('warehouse.csv'));
  writeFileSync(at('old.csv'), 'an export of last week');
  writeFileSync(at('data.parquet'), 'PAR1 and so on');
  writeFileSync(at('book.xlsx'), 'PK\x03\x04 and so on');
  writeFileSync(at('empty'), '');
  execFileSync('mkfifo', [at('pipe')]);
  await runInDuckDb(at('other.duckdb'));
});

const common = { input: 'in.csv', urlColumn: null, delimiter: null, job: null, into: null, options: {}, batch: 100 };
function why(request: Partial<EnrichCsvInput>): Promise<string | null> {
  return whyPathsRefused({ cwd: dir, origin: 'sandbox' }, { ...common, ...request });
}

it.each([
  ['in.csv', 'is the input'],
  ['folder/in.csv', 'is the input'],
  ['hard.csv', 'is the input'],
  ['soft.csv', 'is the input'],
  ['dangling.csv', 'is a link to'],
  // The default warehouse does not exist yet; DuckDB would keep these files beside it.
  ['out/in.duckdb', 'is the warehouse'],
  ['folder/out/in.duckdb', 'is the warehouse'],
  ['warehouse.csv', 'is the warehouse'],
  ['out/in.duckdb.wal', 'is the warehouse'],
  ['other.duckdb', 'is a DuckDB database, not a CSV file'],
  ['data.parquet', 'is a Parquet file, not a CSV file'],
  ['book.xlsx', 'is a zip file or workbook, not a CSV file'],
  ['out', 'is a folder'],
  ['pipe', 'is not a regular file'],
  ['in.csv/out.csv', 'cannot be written'],
])('an enriched CSV at %s is refused before anything is read: it %s', async (csv, reason) => {
  expect(await why({ csv })).toMatch(/^The CSV cannot be written: [^\n]*\.$/);
  expect(await why({ csv })).toContain(reason);
});

it.each(['old.csv', 'new.csv', 'folder/new.csv', 'deep/er/new.csv', 'out/in.csv'])(
  'an enriched CSV at %s is written',
  async (csv) => {
    expect(await why({ csv })).toBeNull();
    expect(readdirSync(at('out'))).toEqual([]);
  },
);

it.each([
  ['new.csv', 'named as a .csv file'],
  ['new.csv.gz', 'named as a .gz file'],
  ['new.XLSX', 'named as a .xlsx file'],
  ['new.jsonl', 'named as a .jsonl file'],
  ['new.parquet', 'named as a .parquet file'],
  ['new.txt', 'named as a .txt file'],
  ['in.csv', 'not a DuckDB database'],
  ['soft.csv', 'not a DuckDB database'],
  ['empty', 'not a DuckDB database'],
  ['data.parquet', 'is a Parquet file'],
  ['out', 'is a folder'],
])('a warehouse at %s is refused by job, setting and warehouse in the same way: it is %s', async (into, reason) => {
  expect(await why({ into })).toContain(reason);
  const config = () => readConfig({ env: {}, flags: { into }, cwd: dir, say: () => undefined });
  expect(config).toThrow(reason);
  const warehouses = createWarehouses();
  await expect(
    warehouses
      .open(at(into))
      .events.begin({ origin: 'o', stream: 'sync' }, { from: null, to: 1, types: [], sweep: false }),
  ).rejects.toThrow(reason);
  await warehouses.close();
});

it.each(['other.duckdb', 'new.duckdb', 'new.db', 'new', 'folder/new.ddb'])(
  'a warehouse at %s is accepted',
  async (into) => {
    expect(await why({ into })).toBeNull();
  },
);

it('an export of a job is also refused by its warehouse', async () => {
  const warehouses = createWarehouses();
  const { rows } = warehouses.open(at('house.duckdb'));
  const record = {
    job: 'j',
    name: 'j',
    origin: 'o',
    operation: 'contents',
    input: at('in.csv'),
    columns: ['url'],
    generation: 'g',
    options: {},
    rows: 0,
    slices: 0,
  };
  await rows.openJob(record, []);
  for (const target of ['in.csv', 'hard.csv', 'folder/in.csv'])
    await expect(rows.exportCsv('j', at(target))).rejects.toThrow(`is the input ${at('in.csv')}`);
  for (const target of ['house.duckdb', 'house.duckdb.wal', 'folder/house.duckdb'])
    await expect(rows.exportCsv('j', at(target))).rejects.toThrow('is the warehouse');
  await expect(rows.exportParquet('j', at('folder'))).rejects.toThrow('is a link to');
  await expect(rows.exportParquet('j', at('old.csv'))).rejects.toThrow('is a file');
  await warehouses.close();
  expect(readdirSync(dir).filter((name) => name.startsWith('.searchflow'))).toEqual([]);
});
