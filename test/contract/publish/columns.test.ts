import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { openWarehouse } from '../../../src/warehouse/index.js';
import { runJob, Service, stageText } from '../../suites/row-job.js';
import { folderOfFile } from '../../support/files/folders.js';
import { sharedPostgres } from '../../support/postgres.js';
import { publishFrom as publish } from '../../support/publish/publish-from.js';
import { publishedRows } from '../../support/publish/read-target.js';
import { placeEmptyWarehouse } from '../../support/warehouse/empty-warehouse.js';
import { pgResult } from '../../support/warehouse/pg-query.js';
import { readDuckDb, runInDuckDb } from '../../support/warehouse/read-duckdb.js';

const dir = folderOfFile();
let made = 0;

/** Loads a CSV in a run, and returns the address of its warehouse. */
async function load(csv: string, address = placeEmptyWarehouse(join(dir, `warehouse-${++made}.duckdb`)), named = {}) {
  const warehouse = openWarehouse(address);
  await runJob(dir, warehouse.rows, await stageText(dir, csv, named), new Service());
  const counts = { rows: 1, success: 1, error: 0, invalid: 0, missing: 0, vanished: 0, requests: 1, costMicros: 1 };
  const run = { job: 'brands-1', run: `run-${made}`, scheduled: false, generation: 'g', phase: 'done' } as const;
  await warehouse.rows.recordRun({ ...run, ...counts, startedAt: 1, endedAt: 2, reason: null, message: null });
  await warehouse.close();
  return address;
}

const inPostgres = async (to: string, sql: string) => {
  const { names, rows } = await pgResult(`${to}?schema=public`, sql);
  return rows.map((row) => Object.fromEntries(names.map((name, index) => [name, row[index]])));
};
const targets = {
  'a folder': {
    open: async () => join(dir, `folder-${++made}`),
    read: async (to: string, columns: string) => (await publishedRows(to, 'brands', columns)) ?? [],
  },
  'a DuckDB file': {
    open: async () => join(dir, `target-${++made}.duckdb`),
    read: (to: string, columns: string) => readDuckDb(to, `SELECT ${columns} FROM brands`),
  },
  PostgreSQL: {
    open: () => sharedPostgres().database(),
    read: (to: string, columns: string) => inPostgres(to, `SELECT ${columns} FROM brands`),
  },
};

it('a warehouse and a target of an earlier commit get new columns', async () => {
  const [from, to] = [join(dir, 'earlier.duckdb'), join(dir, 'earlier-target.duckdb')];
  // RECORD=1 writes the files with this commit.
  if (process.env.RECORD) await publish(await load('url\nhttps://a.com\nhttps://b.com\n', from), { to });
  for (const file of [from, to]) {
    const recorded = new URL(`../../fixtures/${basename(file)}.gz`, import.meta.url);
    if (process.env.RECORD) writeFileSync(recorded, gzipSync(readFileSync(file), { level: 9 }));
    writeFileSync(file, gunzipSync(readFileSync(recorded)));
  }
  await publish(await load('size,url\n7,https://b.com\n', from), { to, mode: 'merge', key: ['url'] });
  const rows = (file: string) => readDuckDb(file, 'SELECT url, size FROM brands ORDER BY url');
  const b = { url: 'https://b.com', size: '7' };
  expect([await rows(from), await rows(to)]).toEqual([[b], [{ url: 'https://a.com', size: null }, b]]);
});

it('an append that is repeated adds nothing, in whichever order the ids of one second are', async () => {
  const [from, to] = [await load('url\nhttps://a.com\n'), join(dir, 'second.duckdb')];
  for (const mode of ['replace', 'append'] as const) await publish(from, { to, mode });
  await runInDuckDb(to, 'UPDATE searchflow_publishes SET publish = mode');
  await publish(from, { to, mode: 'append' });
  expect(await readDuckDb(to, 'SELECT url FROM brands')).toHaveLength(2);
});

describe.each(Object.entries(targets))('%s', (name, { open, read }) => {
  it('accepts an added column in an append and in a merge: earlier rows have NULL there', async () => {
    const to = await open();
    const texts = async () => (await read(to, 'url, size')).map(({ url, size }) => `${url} ${size}`).sort();
    await publish(await load('url\nhttps://a.com\nhttps://b.com\n'), { to });
    const wider = await load('size,url\n7,https://b.com\n8,https://c.com\n');
    await publish(wider, { to, mode: 'merge', key: ['url'] });
    expect(await texts()).toEqual(['https://a.com null', 'https://b.com 7', 'https://c.com 8']);
    const other = await open();
    await publish(await load('url\nhttps://a.com\n'), { to: other });
    await publish(wider, { to: other, mode: 'append' });
    expect((await read(other, 'url, size')).length).toBe(3);
  });

  it('with equal rows has one row for each published key after a merge, and all rows of other keys', async () => {
    const to = await open();
    const csv = 'url,size\nhttps://a.com,1\nhttps://b.com,2\n';
    await publish(await load(`${csv}https://c.com,3\n`), { to });
    for (let times = 0; times < 2; times++)
      await publish(await load(`${csv}https://c.com,3\n`), { to, mode: 'append' });
    await publish(await load(csv.replace(',2', ',4')), { to, mode: 'merge', key: ['url', 'size'] });
    const rows = (await read(to, 'url, size')).map(({ url, size }) => `${url} ${size}`);
    const [a, b, c] = ['https://a.com 1', 'https://b.com 2', 'https://c.com 3'];
    expect(rows.sort()).toEqual([a, b, b, b, 'https://b.com 4', c, c, c]);
  });

  it('refuses a table with the name of its record of publishes; a folder has no such table', async () => {
    const from = await load('url\nhttps://a.com\n', undefined, { name: 'searchflow_publishes' });
    const published = publish(from, { to: await open() });
    if (name === 'a folder') await published;
    else await expect(published).rejects.toThrow('would replace the record of publishes');
  });
});

describe('PostgreSQL', () => {
  const long = 'x'.repeat(70);
  const csv = (cell: string) => `xmin,ctid,oid,XMAX,select,${long},${long}y,url\n${cell},b,c,d,e,f,g,https://a.com\n`;

  it('has columns with names of its own under other names, which the publish says, and which a key may name', async () => {
    const to = await sharedPostgres().database();
    const said: string[] = [];
    const say = (sentence: string) => said.push(sentence);
    await publish(await load(csv('1')), { to, mode: 'merge', key: ['xmin'] }, { say });
    await publish(await load(csv('2')), { to, mode: 'merge', key: ['xmin', long] });
    const [first] = await inPostgres(to, `SELECT ${'xmin_2, ctid_2, oid, "XMAX_2", "select"'} FROM brands ORDER BY 1`);
    expect(first).toEqual({ xmin_2: '1', ctid_2: 'b', oid: 'c', XMAX_2: 'd', select: 'e' });
    expect(
      await inPostgres(to, `SELECT ${long.slice(0, 63)} AS f, ${long.slice(0, 61)}_2 AS g FROM brands LIMIT 1`),
    ).toEqual([{ f: 'f', g: 'g' }]);
    expect(said.join()).toContain('PostgreSQL does not accept some names of columns: xmin as xmin_2, ctid as ctid_2');
  });

  it('keeps grants and views of a table that is replaced with an added column', async () => {
    const to = await sharedPostgres().database();
    await publish(await load('url\nhttps://a.com\n'), { to });
    await inPostgres(to, 'CREATE VIEW urls AS SELECT url FROM brands');
    await publish(await load('url,size\nhttps://b.com,7\n'), { to });
    expect(await inPostgres(to, 'SELECT urls.url, size FROM urls JOIN brands USING (url)')).toEqual([
      { url: 'https://b.com', size: '7' },
    ]);
  });
});
