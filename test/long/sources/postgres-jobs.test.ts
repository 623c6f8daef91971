import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { databaseSource } from '../../../dist/worker/config/database-setting.js';
import { openJob, surroundings } from '../../support/jobs/command.js';
import { boughtAgain, openSetting } from '../../support/jobs/setting.js';
import { sharedPostgres } from '../../support/postgres.js';
import { openTemporal } from '../../support/temporal.js';

const here = surroundings(openTemporal, { failureRate: 0, textBytes: 100 });
const server = sharedPostgres();
const sql = 'SELECT id, name, url, price FROM brands ORDER BY id';
let url: string;
/** The address without user and password. */
let input: string;
let client: pg.Client;

beforeAll(async () => {
  url = await server.database('brands');
  input = Object.assign(new URL(url), { username: '', password: '' }).href;
  client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('CREATE TABLE brands (id int, name text, url text, price numeric(18,2))');
  await client.query(
    "INSERT INTO brands SELECT n, nullif('Brand ' || n, 'Brand 3'), 'https://b' || n || '.example/', n / 4.0 FROM generate_series(1, 30) n",
  );
});
afterAll(() => client?.end());

it('a command reads the rows of a query with their types, and stores no password', async () => {
  const { folder, run, config, bought } = openJob(here, []);
  Object.assign(config, { source: databaseSource(url) });
  const first = await run({ input, sql, job: 'brands', key: ['id'] });
  expect(first.plan).toMatchObject({ toBuy: 30, notes: [], staged: { input, sql, key: ['id'] } });
  expect(first.summary?.warehouse).toMatchObject({ rows: 30, success: 30 });
  expect(
    await folder.query('SELECT id, name, price::VARCHAR AS price FROM brands WHERE id IN (3, 4) ORDER BY id'),
  ).toEqual([
    { id: 3, name: null, price: '0.75' },
    { id: 4, name: 'Brand 4', price: '1.00' },
  ]);
  expect((await run({ input, sql: ` ${sql.replace(' FROM', '\n  FROM')} ;`, job: 'brands' })).plan.status).toBe(
    'complete',
  );
  await client.query(
    "UPDATE brands SET name = 'New name' WHERE id = 5; UPDATE brands SET url = 'https://new.example/' WHERE id = 6",
  );
  onTestFinished(async () => {
    await client.query(
      "UPDATE brands SET name = 'Brand 5' WHERE id = 5; UPDATE brands SET url = 'https://b6.example/' WHERE id = 6",
    );
  });
  const second = await run({ input, sql, job: 'brands' });
  expect(second.plan).toMatchObject({ status: 'changed', toBuy: 1 });
  expect(second.summary?.warehouse).toMatchObject({ success: 30, vanished: 0 });
  expect([bought(), boughtAgain(here.sandbox)]).toEqual([31, {}]);
  const files = readdirSync(folder.dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const leaking = files.filter(({ parentPath, name }) =>
    readFileSync(join(parentPath, name)).includes(server.password),
  );
  expect(leaking.map(({ name }) => name)).toEqual([]);
});

it('a password that was changed between two runs fails the run in one sentence, and the next run continues', async () => {
  await client.query("CREATE ROLE nightly LOGIN PASSWORD 'first-word'; GRANT SELECT ON brands TO nightly");
  const login = Object.assign(new URL(url), { username: 'nightly', password: 'first-word' }).href;
  const setting = await openSetting(here.temporal, { config: { source: databaseSource(login) } });
  onTestFinished(() => setting.close());
  const nightly = {
    input,
    sql,
    key: ['id'],
    job: 'nightly',
    urlColumn: 'url',
    options: {},
    batch: 20,
    scheduled: true,
  };
  expect(await (await setting.begin([], nightly)).result()).toMatchObject({
    phase: 'done',
    warehouse: { success: 30 },
  });
  const run = async () => (await setting.begin([], nightly)).result();
  const refused = (why: RegExp) => ({
    cause: { type: 'BadInput', nonRetryable: true, message: expect.stringMatching(why) },
  });
  await client.query("ALTER ROLE nightly PASSWORD 'second-word'");
  await expect(run()).rejects.toMatchObject(
    refused(
      /^The database \S+ refused: password authentication failed for user "nightly"\. Correct user and password: .*SEARCHFLOW_SOURCE_URL/,
    ),
  );
  await client.query("ALTER ROLE nightly PASSWORD 'first-word'; REVOKE SELECT ON brands FROM nightly");
  await expect(run()).rejects.toMatchObject(refused(/permission denied for table brands.*Ask its owner/));
  expect(setting.sandbox.log()).toEqual([]);
  await client.query('GRANT SELECT ON brands TO nightly');
  expect(await run()).toMatchObject({ phase: 'done', warehouse: { success: 30 } });
});
