import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Secret } from '../../../src/core/connections/secret.js';
import type { RowWarehouse } from '../../../src/core/rows/row-warehouse.js';
import { WarehouseUnusable } from '../../../src/core/rows/warehouse-errors.js';
import { createWarehouses, openWarehouse, warehouseAddress, warehouseIdentity } from '../../../src/warehouse/index.js';
import { rowTables } from '../../../src/warehouse/rows/row-tables.js';
import { exported, runJob, Service, stageText } from '../../suites/row-job.js';
import { rowsContract } from '../../suites/rows-contract.js';
import { folderOfFile } from '../../support/files/folders.js';
import { sharedPostgres } from '../../support/postgres.js';
import { pgQuery } from '../../support/warehouse/pg-query.js';
import { postgresUnderTest } from '../../support/warehouse/warehouses-under-test.js';

const server = sharedPostgres();
let database: string;
beforeAll(async () => {
  database = await server.database();
});

let schemas = 0;
const newSchema = () => `${database}?schema=sink_${process.pid}_${++schemas}`;

describe('a PostgreSQL warehouse under the contract', () => {
  rowsContract(() => postgresUnderTest(newSchema()));
});

describe('a PostgreSQL warehouse', () => {
  const dir = folderOfFile();
  const warehouses: RowWarehouse[] = [];
  const open = (url: string) => {
    const warehouse = openWarehouse(url, { patienceMs: 5000 }).rows;
    warehouses.push(warehouse);
    return warehouse;
  };
  afterAll(() => Promise.all(warehouses.map((warehouse) => warehouse.close())));
  const small = 'name,url\na,https://a.com/\nb,https://b.com/\n';

  it('is created by the first job and by nothing before', async () => {
    const url = newSchema();
    const warehouse = open(url);
    expect(await warehouse.loadedSlices('nobody', 'x')).toBeNull();
    expect(await warehouse.holdsRows('nobody')).toBe(false);
    await expect(warehouse.summary('nobody')).rejects.toThrow(/no job nobody/);
    const count = `SELECT count(*) FROM pg_namespace WHERE nspname = '${new URL(url).searchParams.get('schema')}'`;
    expect(await pgQuery(database, count)).toEqual([[0]]);
    await runJob(dir, warehouse, await stageText(dir, small), new Service());
    expect(await pgQuery(database, count)).toEqual([[1]]);
  });

  it('of another program is refused and left as it was', async () => {
    const url = newSchema();
    const schema = new URL(url).searchParams.get('schema');
    await pgQuery(database, `CREATE SCHEMA ${schema}`);
    await pgQuery(database, `CREATE TABLE ${schema}.searchflow_migrations AS SELECT '0001-row-jobs' AS name`);
    const { record, files } = await stageText(dir, small);
    await expect(open(url).openJob(record, files)).rejects.toThrow(
      `${warehouseIdentity(url)} was not created by this version of searchflow`,
    );
    const tables = `SELECT count(*) FROM pg_class WHERE relnamespace = '${schema}'::regnamespace`;
    expect(await pgQuery(database, tables)).toEqual([[1]]);
  });

  it('shares one pool of four connections between rows, events and monitors', async () => {
    const url = await server.database('pool');
    const { rows, events, monitors, close } = openWarehouse(url);
    await runJob(dir, rows, await stageText(dir, small), new Service());
    const uses = [
      () => rows.holdsRows('brands-1'),
      () => events.streams('https://api'),
      () => monitors.audit.pausesOf('https://api', 'night'),
    ];
    await Promise.all(Array.from({ length: 24 }, (_, index) => uses[index % uses.length]?.()));
    const [[connections] = []] = await pgQuery(
      url,
      `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'searchflow warehouse'`,
    );
    expect(connections).toBe(4);
    await close();
  });

  it('is in a schema of any name, by default searchflow', async () => {
    const odd = `${database}?schema=${encodeURIComponent(`it's "odd"; \\ é`)}`;
    for (const url of [odd, database]) {
      const warehouse = open(url);
      await runJob(dir, warehouse, await stageText(dir, small), new Service());
      expect(await exported(dir, warehouse)).toHaveLength(2);
      expect(await pgQuery(url, 'SELECT name, title FROM brands ORDER BY row_number')).toEqual([
        ['a', 'Title of https://a.com/'],
        ['b', 'Title of https://b.com/'],
      ]);
    }
  });

  it('is identified by an address without user and password, and opened with its credentials', async () => {
    const url = newSchema();
    const address = warehouseAddress(url);
    expect(address).toBe(url.replace(/\/\/.*@/, '//'));
    const asked: string[] = [];
    const all = createWarehouses({
      credentialsFor: (known) => {
        asked.push(known);
        return new Secret(url);
      },
    });
    expect(all.open(address)).toBe(all.open(url));
    expect(asked).toEqual([address]);
    await runJob(dir, all.open(address).rows, await stageText(dir, small), new Service());
    const error = await all
      .open(address)
      .rows.summary('nobody')
      .catch((reason: unknown) => reason);
    expect(String(error)).toContain(address);
    expect(String(error)).not.toContain(server.password);
    await all.close();
  });

  it('[45] keeps all cells of 10,000 columns, and shows as many as a view can have', async () => {
    const url = newSchema();
    const warehouse = open(url);
    const columns = Array.from({ length: 9_999 }, (_, index) => `c${index}`);
    const text = `url,${columns.join(',')}\nhttps://a.com/,${columns.map((_, index) => index).join(',')}\n`;
    await runJob(dir, warehouse, await stageText(dir, text), new Service());
    expect((await exported(dir, warehouse))[0]).toMatchObject({ c0: '0', c9998: '9998', status: 'success' });
    expect(await pgQuery(url, `SELECT c0, status, left(obj_description('brands'::regclass), 66) FROM brands`)).toEqual([
      ['0', 'success', 'The first 1585 columns; the other 8415 are in enriched_rows.input.'],
    ]);
    expect(await pgQuery(url, 'SELECT input[10000] FROM enriched_rows')).toEqual([['9998']]);
  });

  it('[45] reports by row which text it cannot hold, keeps it exactly, and lets every query continue', async () => {
    const url = newSchema();
    const warehouse = open(url);
    const service = new Service((asked) =>
      asked.includes('b.com') ? { result: { title: 'nul \0', text: '\\u0000 and \0 and \ud800', n: 1 } } : {},
    );
    await runJob(dir, warehouse, await stageText(dir, 'name,url\na,https://a.com/\n"b\0",https://b.com/\n'), service);
    expect(
      await pgQuery(
        url,
        `SELECT name, title, text, response::jsonb ->> 'n', row_exact::text, answer_exact::text FROM brands
         JOIN row_store USING (row_number) ORDER BY row_number`
          .replace('title,', 'brands.title,')
          .replace('response', 'brands.response'),
      ),
    ).toEqual([
      ['a', 'Title of https://a.com/', 'Text of https://a.com/', null, null, null],
      [
        'b\\u0000',
        'nul \\u0000',
        '\\u0000 and \\u0000 and \\ud800',
        '1',
        expect.stringContaining('"i":["b\\u0000","https://b.com/"]'),
        expect.stringContaining('"text":"\\\\u0000 and \\u0000 and \\ud800"'),
      ],
    ]);
    const rows = await exported(dir, warehouse);
    expect(rows.map((row) => [row.name, row.title])).toEqual([
      ['a', 'Title of https://a.com/'],
      ['b\0', 'nul \\u0000'],
    ]);
  });

  it('is exported and counted by a user with read permission only', async () => {
    const url = newSchema();
    await runJob(dir, open(url), await stageText(dir, small), new Service());
    const schema = new URL(url).searchParams.get('schema');
    const role = `reader_${schema}`;
    await pgQuery(url, `CREATE ROLE ${role} LOGIN PASSWORD 'canary-reader'`);
    await pgQuery(url, `GRANT USAGE ON SCHEMA ${schema} TO ${role}`);
    await pgQuery(url, `GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${role}`);
    const theirs = new URL(url);
    theirs.username = role;
    theirs.password = 'canary-reader';
    const reader = open(theirs.href);
    expect(await exported(dir, reader)).toHaveLength(2);
    expect(await reader.summary('brands-1')).toMatchObject({ success: 2 });
    const staged = await stageText(dir, small, { job: 'theirs' });
    await expect(reader.openJob(staged.record, staged.files)).rejects.toThrow(/needs .*INSERT ON row_store/);
    // A user that only loads rows needs no rights on the tables of events and monitors.
    const tables = rowTables(true).map(({ name }) => `${schema}.${name}`);
    await pgQuery(url, `GRANT INSERT, UPDATE, DELETE ON ${tables.join(', ')} TO ${role}`);
    await pgQuery(url, `GRANT CREATE ON SCHEMA ${schema} TO ${role}`);
    await open(theirs.href).openJob(staged.record, staged.files);
  });

  it('with changed tables is refused with all mistakes; additional columns are accepted', async () => {
    const url = newSchema();
    await runJob(dir, open(url), await stageText(dir, small), new Service());
    const refusal = async () => {
      const staged = await stageText(dir, small, { job: 'later' });
      const warehouse = open(url);
      return warehouse.openJob(staged.record, staged.files).then(
        () => null,
        (reason: Error) => reason,
      );
    };
    await pgQuery(url, 'ALTER TABLE load_ledger ADD COLUMN note text');
    expect(await refusal()).toBeNull();
    await pgQuery(url, `ALTER TABLE load_ledger ADD COLUMN owner text NOT NULL DEFAULT 'me'`);
    await pgQuery(url, 'ALTER TABLE load_ledger ALTER COLUMN owner DROP DEFAULT');
    await pgQuery(url, 'ALTER TABLE load_ledger DROP COLUMN attempt');
    await pgQuery(url, 'ALTER TABLE unknown_outcomes ALTER COLUMN recorded_at TYPE timestamp');
    await pgQuery(url, 'DROP TABLE searchflow_runs CASCADE');
    const error = await refusal();
    expect(error).toBeInstanceOf(WarehouseUnusable);
    for (const wrong of [
      'load_ledger.owner is NOT NULL without a default',
      'load_ledger.attempt is missing',
      'unknown_outcomes.recorded_at is timestamp without time zone instead of timestamptz',
      'the table searchflow_runs is missing',
    ])
      expect(error?.message).toContain(wrong);
    expect(error?.message).not.toContain('note');
  });

  it('comments on every table, view and column', async () => {
    const url = newSchema();
    await runJob(dir, open(url), await stageText(dir, small), new Service());
    const silent = await pgQuery(
      url,
      `SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
       WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'v')
         AND relname <> 'brands'
         AND (col_description(c.oid, attnum) IS NULL OR obj_description(c.oid) IS NULL)`,
    );
    expect(silent).toEqual([]);
  });

  it('without a valid address, a database, or the right password is refused with a remedy', async () => {
    expect(() => openWarehouse('postgres://me:canary@host')).toThrow(WarehouseUnusable);
    const wrong = {
      [database.replace(server.password, 'canary-wrong')]: /password authentication failed.*SEARCHFLOW_WAREHOUSE_URL/,
      [server.urlOf('nowhere')]: /"nowhere" does not exist/,
      [`${database}?sslmode=require`]: /SSL.*sslmode/,
    };
    for (const [url, what] of Object.entries(wrong)) {
      const staged = await stageText(dir, small);
      const error = await open(url)
        .openJob(staged.record, staged.files)
        .catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(WarehouseUnusable);
      expect(String(error)).toMatch(what);
      expect(String(error)).not.toContain('canary');
    }
  });
});
