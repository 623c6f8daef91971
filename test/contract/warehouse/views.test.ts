import { describe, expect, it } from 'vitest';
import { runJob, Service, stageText } from '../../suites/row-job.js';
import { type MakeWarehouse, makeInFolder } from '../../suites/warehouse-under-test.js';
import { schemasOfFile } from '../../support/postgres.js';
import { duckDbUnderTest, postgresUnderTest } from '../../support/warehouse/warehouses-under-test.js';

const newSchema = schemasOfFile();
const small = 'name,url\na,https://a.com/\nb,https://b.com/\n';
const [long, cut] = ['é'.repeat(40), 'é'.repeat(31)];

describe.each<[string, MakeWarehouse, readonly string[]]>([
  ['a DuckDB file', duckDbUnderTest, [`${long}1`, `${long}2`]],
  ['a PostgreSQL schema', () => postgresUnderTest(newSchema()), [cut, `${cut.slice(1)}_2`]],
])('the views of %s', (_name, make, names) => {
  it('have a name of their own for each job, and the columns of the user first', async ({ onTestFinished }) => {
    const test = await makeInFolder(make);
    onTestFinished(test.remove);
    const clash = `url,Status,URL,,${long}1,${long}2\nhttps://a.com/,x,y,z,1,2\n`;
    const jobs = ['brands', 'Brands', 'load_ledger', `it's a "view"`, 'spend'].map((name) => ({
      job: `${name.length}-${name[0]}`,
      name,
    }));
    for (const job of jobs) await runJob(test.dir, test.rows, await stageText(test.dir, small, job), new Service());
    const other = { job: 'clash-1', name: 'clash', urlColumn: 'url' };
    await runJob(test.dir, test.rows, await stageText(test.dir, clash, other), new Service());
    for (const view of ['brands', 'Brands_2', 'load_ledger_2', `it's a ""view""`, 'spend_2'])
      expect(await test.values(`SELECT name, url, status, text FROM "${view}" ORDER BY row_number`)).toEqual([
        ['a', 'https://a.com/', 'success', 'Text of https://a.com/'],
        ['b', 'https://b.com/', 'success', 'Text of https://b.com/'],
      ]);
    const columns = (await test.query('SELECT * FROM clash')).names.slice(0, 7);
    expect(columns).toEqual(['url', 'Status', 'URL_2', 'column_4', ...names, 'result_status']);
  });

  it('and its columns are those of this version once it is opened, if an earlier version has made it', async ({
    onTestFinished,
  }) => {
    const test = await makeInFolder(make);
    onTestFinished(test.remove);
    const service = new Service();
    await runJob(test.dir, test.rows, await stageText(test.dir, small), service);
    for (const sql of [
      'DROP VIEW brands',
      'DROP VIEW enriched_rows',
      'ALTER TABLE row_store DROP COLUMN source',
      'CREATE VIEW enriched_rows AS SELECT row_number, status FROM row_store',
      'CREATE VIEW brands AS SELECT status FROM enriched_rows',
      "DELETE FROM searchflow_migrations WHERE name LIKE '0.2.0-warehouse-%'",
    ])
      await test.values(sql);
    await test.close();
    expect(await test.rows.summary('brands-1')).toMatchObject({ success: 2 });
    expect(await test.values('SELECT count(title), count(source), count(text) FROM enriched_rows')).toEqual([
      [2, 0, 2],
    ]);
    expect(await test.values('SELECT count(url), count(title), count(row_number) FROM brands')).toEqual([[2, 2, 2]]);
    await runJob(test.dir, test.rows, await stageText(test.dir, `${small}c,https://c.com/\n`), service);
    expect(await test.rows.summary('brands-1')).toMatchObject({ success: 3 });
    expect(service.asked).toHaveLength(3);
  });
});
