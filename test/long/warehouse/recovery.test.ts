import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RowWarehouse } from '../../../src/core/rows/row-warehouse.js';
import { WarehouseUnusable } from '../../../src/core/rows/warehouse-errors.js';
import { jsonText } from '../../../src/core/text/json.js';
import { readSlice } from '../../../src/rows/index.js';
import { openWarehouse } from '../../../src/warehouse/index.js';
import { batchOf, buySlice, exported, runJob, Service, sha256, stageText, unitFile } from '../../suites/row-job.js';
import { folderOfTest } from '../../support/files/folders.js';
import { ofFile } from '../../support/of-file.js';
import { startPostgres } from '../../support/postgres-server.mjs';
import { pgQuery } from '../../support/warehouse/pg-query.js';
import { queryDuckDb } from '../../support/warehouse/warehouses-under-test.js';

const server = ofFile(startPostgres);

interface UnderTest {
  readonly warehouse: RowWarehouse;
  query(sql: string): Promise<unknown[][]>;
}

/** `largest`: size of the largest answer that the test loads, in MiB. It is smaller for PostgreSQL, which is slower. */
const warehouses: readonly (readonly [name: string, largest: number, make: (dir: string) => Promise<UnderTest>])[] = [
  [
    'DuckDB',
    63,
    async (dir) => {
      const file = join(dir, 'warehouse.duckdb');
      const warehouse = openWarehouse(file).rows;
      const query = async (sql: string) => {
        await warehouse.close();
        return (await queryDuckDb(file, sql)).rows.map((row) => [...row]);
      };
      return { warehouse, query };
    },
  ],
  [
    'PostgreSQL',
    24,
    async () => {
      const url = await server.database();
      return { warehouse: openWarehouse(url).rows, query: (sql) => pgQuery(`${url}?schema=searchflow`, sql) };
    },
  ],
];

const csv = (...rows: string[]) => `name,url\n${rows.map((row) => `${row}\n`).join('')}`;
const letters = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((name) => `${name},https://${name}.com/`);

describe.each(warehouses)('a %s warehouse', (_name, largest, make) => {
  let dir: string;
  let test: UnderTest;
  let service: Service;
  beforeEach(async () => {
    dir = folderOfTest();
    test = await make(dir);
    service = new Service();
  });
  afterEach(() => test.warehouse.close());

  describe('that has lost rows', () => {
    it('no longer counts their slices as loaded, and loads only the missing rows', async () => {
      const { warehouse } = test;
      const staged = await stageText(dir, csv(...letters));
      await runJob(dir, warehouse, staged, service);
      const { job, generation } = staged.record;
      await test.query('DELETE FROM row_store WHERE row_number IN (2, 7, 8)');
      expect(await warehouse.loadedSlices(job, generation)).toEqual([1]);
      expect(await warehouse.unloadedSlices(staged.record)).toEqual([0, 2]);
      service.asked.length = 0;
      for (const slice of [0, 2])
        await warehouse.load(batchOf(staged, slice, await buySlice(dir, warehouse, staged, slice, service)));
      expect(service.asked).toEqual(['https://b.com/', 'https://g.com/', 'https://h.com/']);
      expect((await exported(dir, warehouse)).map(({ name }) => name).join('')).toBe('abcdefgh');
      expect(await warehouse.unloadedSlices(staged.record)).toEqual([]);
    });

    it('loads them also when the job is opened again', async () => {
      const staged = await stageText(dir, csv(...letters));
      await runJob(dir, test.warehouse, staged, service);
      await test.query('DELETE FROM row_store WHERE row_number = 5');
      expect(await test.warehouse.openJob(staged.record, staged.files)).toEqual([1]);
    });

    it('counts outdated answers as missing', async () => {
      const staged = await stageText(dir, csv(...letters));
      await runJob(dir, test.warehouse, staged, service);
      expect(await test.warehouse.unloadedSlices(staged.record, { freshAfter: service.now + 1 })).toEqual([0, 1, 2]);
    });

    it('is not touched by a run of another generation', async () => {
      const staged = await stageText(dir, csv(...letters));
      await expect(test.warehouse.unloadedSlices(staged.record)).rejects.toThrow(WarehouseUnusable);
      await runJob(dir, test.warehouse, staged, service);
      const other = { ...staged.record, generation: 'another' };
      await expect(test.warehouse.unloadedSlices(other)).rejects.toThrow(/other content/);
    });
  });

  describe('with answers that the journal lacks', () => {
    const urls = new Map<string, string>();
    const keysOf = async (dir: string, text: string) => {
      const staged = await stageText(dir, text);
      for (const file of staged.files)
        for (const row of await readSlice(file)) if (row.k) urls.set(row.u as string, row.k);
      return staged;
    };
    const key = (name: string) => urls.get(`https://${name}.com/`) as string;

    it('returns the newest answer of each unit, unchanged and with its cost, from any job', async () => {
      const result = { text: 'NUL \u0000, half \ud800, ü', deep: [{ a: [1.5, null] }] };
      service = new Service((url) =>
        url.includes('b.')
          ? { status: 'error', error_tag: 'CRAWL_TIMEOUT', http_status: 504, result: { error: 'x' }, cost_micros: 0 }
          : { result },
      );
      await runJob(
        dir,
        test.warehouse,
        await keysOf(dir, csv(...letters.slice(0, 4), 'again,https://a.com/', 'bad,nope')),
        service,
      );
      service.now += 60_000;
      const other = await stageText(dir, csv('a,https://a.com/'), { job: 'other-1', name: 'other' });
      await runJob(dir, test.warehouse, other, service);
      const unknown = '0'.repeat(32);
      expect(await test.warehouse.holdsAnswers()).toBe(true);
      const known = await test.warehouse.known([key('a'), key('b'), key('c'), unknown]);
      expect(known).toEqual(
        new Map([
          [key('a'), 1000],
          [key('b'), 0],
          [key('c'), 1000],
        ]),
      );
      const answers = new Map(
        (await test.warehouse.answers([key('a'), key('b'), unknown])).map((one) => [one.outcome.key, one]),
      );
      expect([...answers.keys()].sort()).toEqual([key('a'), key('b')].sort());
      expect(answers.get(key('a'))).toMatchObject({
        requestId: 'request-6',
        fetchedAt: service.now,
        outcome: { unit: 'https://a.com/', status: 'success', errorTag: null, source: 'crawled', costMicros: 0 },
      });
      expect(jsonText(answers.get(key('a'))?.outcome.result ?? null)).toContain('NUL \\u0000');
      expect(answers.get(key('b'))).toMatchObject({
        fetchedAt: service.now - 60_000,
        outcome: { status: 'error', errorTag: 'CRAWL_TIMEOUT', httpStatus: 504 },
      });
      expect(JSON.parse(jsonText(answers.get(key('b'))?.outcome.result ?? null))).toEqual({ error: 'x' });
      const freshness = { retryTags: ['CRAWL_TIMEOUT'], retryBefore: service.now, freshAfter: service.now };
      expect([...(await test.warehouse.known([key('a'), key('b'), key('c')], freshness)).keys()]).toEqual([key('a')]);
      expect(await test.warehouse.answers([key('b'), key('c')], freshness)).toEqual([]);
    });

    it('returns none without a warehouse, and creates none', async () => {
      expect(await test.warehouse.holdsAnswers()).toBe(false);
      expect(await test.warehouse.known(['0'.repeat(32)])).toEqual(new Map());
      expect(await test.warehouse.answers(['0'.repeat(32)])).toEqual([]);
      expect(await test.warehouse.loadedSlices('brands-1', 'x')).toBeNull();
    });
  });

  describe('with large answers', () => {
    const MIB = 1_048_576;
    const many = (count: number) =>
      csv(...Array.from({ length: count }, (_, index) => `row ${index},https://site-${index}.com/`));
    /** A text that differs from page to page. */
    const textOf = (url: string, bytes: number) => {
      const block = Array.from({ length: 64 }, (_, at) => sha256(`${url} ${at}`)).join('');
      return block.repeat(Math.ceil(bytes / block.length)).slice(0, bytes);
    };
    const lengths = () => test.query('SELECT row_number, length(text) FROM enriched_rows ORDER BY row_number');

    it('loads a slice whose answers are far larger than its memory limit', async () => {
      const sizes = Array.from({ length: 24 }, (_, index) => (index % 3 === 0 ? 2 * MIB : 1000));
      service = new Service((url) => ({
        result: { url, text: textOf(url, sizes[Number(/\d+/.exec(url)?.[0])] as number) },
      }));
      const staged = await stageText(dir, `${many(24)}bad,nope\n`, { rowsPerSlice: 50 });
      await runJob(dir, test.warehouse, staged, service);
      expect(await lengths()).toEqual([...sizes, null].map((size, index) => [index + 1, size]));
      expect(await test.warehouse.loadedSlices('brands-1', staged.record.generation)).toEqual([0]);
      expect(await test.warehouse.summary('brands-1')).toMatchObject({ success: 24, invalid: 1, missing: 0 });
    });

    it('replaces failures by answers that are far larger than its memory limit', async () => {
      const sizeOf = (url: string) => (Number(/\d+/.exec(url)?.[0]) % 3 === 0 ? 2 * MIB : 1000);
      service = new Service(() => ({ status: 'error', error_tag: 'CRAWL_TIMEOUT', cost_micros: 0, result: null }));
      service.now = Date.now() + 60_000;
      const staged = await stageText(dir, many(24), { rowsPerSlice: 10 });
      await runJob(dir, test.warehouse, staged, service);
      const { job, generation } = staged.record;
      await test.warehouse.openRetry(job, { tags: ['CRAWL_TIMEOUT'], onlyFree: true }, 'unit');
      const units = await test.warehouse.retryUnits(job, { from: 0, to: 3 });
      const later = new Service((url) => ({ result: { url, text: textOf(url, sizeOf(url)) } }));
      later.now = service.now + 60_000;
      const file = unitFile(
        dir,
        units.map(({ key, unit }) => later.buy(key, unit)),
      );
      const batch = { job, generation, unitFiles: [file], keys: units.map(({ key }) => key) };
      expect(await test.warehouse.loadRetry(batch)).toEqual({ rows: 24 });
      expect(await lengths()).toEqual(units.map(({ unit, row }) => [row, sizeOf(unit)]));
      expect(await test.warehouse.loadRetry(batch)).toEqual({ rows: 0 });
    });

    it('loads a single answer as large as the wire accepts', async () => {
      const size = largest * MIB;
      service = new Service((url) => ({ result: { url, text: textOf(url, url.includes('-1.') ? size : 10) } }));
      const staged = await stageText(dir, many(3), { rowsPerSlice: 50 });
      await runJob(dir, test.warehouse, staged, service);
      expect(await lengths()).toEqual([
        [1, 10],
        [2, size],
        [3, 10],
      ]);
    });
  });
});
