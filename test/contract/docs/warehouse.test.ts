import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { readCatalogs, usefulQueries, warehouseDoc } from '../../../scripts/warehouse-doc.mjs';
import { createWarehouses } from '../../../src/warehouse/index.js';
import { runJob, Service, stageText } from '../../suites/row-job.js';
import { folderOfFile } from '../../support/files/folders.js';
import { type SharedPostgres, sharedPostgres } from '../../support/postgres.js';
import { pgQuery } from '../../support/warehouse/pg-query.js';
import { runInDuckDb } from '../../support/warehouse/read-duckdb.js';

describe('docs/reference/tables.md', () => {
  const dir = folderOfFile();
  let server: SharedPostgres;
  beforeAll(async () => {
    server = sharedPostgres();
  });

  it('equals the comments of fresh warehouses (else: npm run generate)', async () => {
    const catalogs = await readCatalogs(createWarehouses, dir, await server.database());
    const doc = readFileSync(fileURLToPath(new URL('../../../docs/reference/tables.md', import.meta.url)), 'utf8');
    expect(doc).toBe(warehouseDoc(catalogs));
    for (const catalog of Object.values(catalogs)) {
      for (const { name, is, columns } of catalog.values()) {
        expect([name, is]).toEqual([name, expect.any(String)]);
        for (const [column, { is: meaning }] of columns)
          expect([name, column, meaning]).toEqual([name, column, expect.any(String)]);
      }
    }
  });

  it('shows queries that return rows, the same in both databases', async () => {
    const warehouses = createWarehouses();
    const [file, url] = [join(dir, 'queries.duckdb'), await server.database()];
    for (const address of [file, url]) {
      const service = new Service((asked) =>
        asked.includes('b.com')
          ? { status: 'error', error_tag: 'CRAWL_NOT_FOUND', result: null }
          : { result: { score: 0.5 } },
      );
      await runJob(
        dir,
        warehouses.open(address).rows,
        await stageText(dir, 'url\nhttps://a.com/\nhttps://b.com/\nhttps://c.com/\n'),
        service,
      );
    }
    await warehouses.close();
    const plain = (rows: readonly (readonly unknown[])[]) =>
      rows.map((row) => row.map((value) => (value === null || Number.isNaN(Number(value)) ? value : Number(value))));
    for (const [title, query] of usefulQueries as [string, string][]) {
      const here = plain((await runInDuckDb(file, query)).map((row) => Object.values(row)));
      expect([title, here.length > 0]).toEqual([title, true]);
      expect([title, plain(await pgQuery(url, query))]).toEqual([title, here]);
    }
  });
});
