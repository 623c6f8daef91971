import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { UnitRecord, UnknownOutcome } from '#searchflow/core/purchase/journal.js';
import type { RowWarehouse, RunRecord } from '#searchflow/core/rows/row-warehouse.js';
import { WarehouseUnusable } from '#searchflow/core/rows/warehouse-errors.js';
import type { Json } from '#searchflow/core/text/json.js';
import { cutRows } from '#searchflow/rows/index.js';
import { keyContract } from './key-contract.js';
import { placeContract } from './place-contract.js';
import {
  batchOf,
  buySlice,
  exported,
  parquetRows,
  runJob,
  Service,
  type StagedTest,
  stageText,
  unitFile,
} from './row-job.js';
import { type InFolder, type MakeWarehouse, makeInFolder, type WarehouseUnderTest } from './warehouse-under-test.js';

/** A warehouse under test that another process can also load. */
export interface LoadedElsewhere extends WarehouseUnderTest {
  /**
   * Starts a process that reads a JSON file `{ "batches": [LoadBatch, …] }` and loads the batches into this warehouse, one after another. The
   * process prints the number of the slice and a newline after each batch that was not loaded before.
   */
  spawnLoader(batchesFile: string): ChildProcess;
}

const csv = (...rows: string[]) => `name,url\n${rows.map((row) => `${row}\n`).join('')}`;
const letters = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((name) => `${name},https://${name}.com/`);
const names = (rows: readonly Record<string, string>[]) => rows.map((row) => row.name).join('');

/**
 * The contract of `RowWarehouse`: loads, changed inputs, old answers, odd values, exports, records of runs, unknown outcomes and spend.
 * `make` returns an empty warehouse for each test.
 */
export function rowsContract(make: MakeWarehouse): void {
  keyContract(make);
  placeContract(make);
  let dir: string;
  let test: InFolder;
  let warehouse: RowWarehouse;
  let service: Service;
  beforeEach(async () => {
    test = await makeInFolder(make);
    dir = test.dir;
    warehouse = test.rows;
    service = new Service();
  });
  afterEach(() => test.remove());
  const bill = async () => Number((await test.values('SELECT sum(cost_micros) FROM enriched_rows'))[0]?.[0]);

  describe('loading', () => {
    it('loads each row once, in order, with its own cells and its answer', async () => {
      service = new Service((url) =>
        url.includes('d.') ? { status: 'error', error_tag: 'CRAWL_NOT_FOUND', http_status: 404, result: null } : {},
      );
      await runJob(dir, warehouse, await stageText(dir, csv(...letters, 'bad,nope')), service);
      expect(service.asked).toEqual(letters.map((letter) => letter.split(',')[1]));
      const rows = await exported(dir, warehouse);
      expect(names(rows)).toBe('abcdefghbad');
      expect(rows[0]).toMatchObject({
        url: 'https://a.com/',
        status: 'success',
        title: 'Title of https://a.com/',
        text: 'Text of https://a.com/',
      });
      expect(rows[3]).toMatchObject({ status: 'error', error_tag: 'CRAWL_NOT_FOUND', http_status: '404', title: '' });
      expect(rows[8]).toMatchObject({
        status: 'invalid',
        error_tag: 'INVALID_URL',
        error_message: expect.stringContaining('line 10, column 2'),
      });
      expect(await warehouse.summary('brands-1')).toEqual({
        rows: 9,
        success: 7,
        error: 1,
        invalid: 1,
        missing: 0,
        vanished: 0,
        tags: { CRAWL_NOT_FOUND: 1, INVALID_URL: 1 },
        view: expect.stringMatching(/^(?:\w+\.)?brands$/),
      });
    });

    it('has the same result when the same batch is loaded twice, or twice at once', async () => {
      const staged = await stageText(dir, csv(...letters));
      await warehouse.openJob(staged.record, staged.files);
      const files = await buySlice(dir, warehouse, staged, 0, service);
      const loads = await Promise.all(
        ['one', 'two', 'three'].map((attempt) => warehouse.load(batchOf(staged, 0, files, attempt))),
      );
      expect(loads.filter((load) => !load.already)).toEqual([{ rows: 3, already: false }]);
      expect(loads.every((load) => load.rows === 3)).toBe(true);
      expect(await test.values('SELECT count(*), count(DISTINCT row_number) FROM enriched_rows')).toEqual([[3, 3]]);
      expect(await warehouse.loadedSlices('brands-1', staged.record.generation)).toEqual([0]);
      expect(await warehouse.summary('brands-1')).toMatchObject({ success: 3, missing: 5 });
    });

    it('loads the first rows of a slice without completing it, and later only the others', async () => {
      const staged = await stageText(dir, csv('bad,nope', ...letters));
      await warehouse.openJob(staged.record, staged.files);
      const cut = await cutRows(staged.files[0] as string, ({ n }) => n <= 2, join(dir, 'cut.jsonl.gz'));
      const part: StagedTest = { ...staged, files: [cut] };
      for (const attempt of ['one', 'two']) {
        const files = await buySlice(dir, warehouse, part, 0, service);
        expect(await warehouse.load({ ...batchOf(part, 0, files, attempt), partial: true })).toEqual({
          rows: 2,
          already: false,
        });
      }
      expect(service.asked).toEqual(['https://a.com/']);
      expect(await warehouse.loadedSlices('brands-1', staged.record.generation)).toEqual([]);
      expect(await warehouse.summary('brands-1')).toMatchObject({ success: 1, invalid: 1, missing: 7, vanished: 0 });
      expect(names(await exported(dir, warehouse))).toBe('bada');
      await runJob(dir, warehouse, staged, service);
      expect(names(await exported(dir, warehouse))).toBe('badabcdefgh');
      expect(service.asked).toHaveLength(8);
      expect(await warehouse.summary('brands-1')).toMatchObject({ success: 8, invalid: 1, missing: 0, vanished: 0 });
    });

    it('counts loaded rows of slices that are not whole, and failed rows, without stale ones', async () => {
      service = new Service((url) =>
        /[ad]\./.test(url) ? { status: 'error', error_tag: 'CRAWL_TIMEOUT', http_status: 504, result: null } : {},
      );
      const staged = await stageText(dir, csv('bad,nope', ...letters));
      const { generation } = staged.record;
      await warehouse.openJob(staged.record, staged.files);
      expect(await warehouse.loadedRows('brands-1', generation)).toEqual({ failed: 0, partial: [] });
      const cut = await cutRows(staged.files[0] as string, ({ n }) => n <= 2, join(dir, 'cut.jsonl.gz'));
      const part: StagedTest = { ...staged, files: [cut] };
      await warehouse.load({
        ...batchOf(part, 0, await buySlice(dir, warehouse, part, 0, service), 'one'),
        partial: true,
      });
      await warehouse.load(batchOf(staged, 1, await buySlice(dir, warehouse, staged, 1, service), 'two'));
      expect(await warehouse.loadedRows('brands-1', generation)).toEqual({ failed: 2, partial: [[0, 2]] });
      const stale = { retryTags: ['CRAWL_TIMEOUT'], retryBefore: Date.now() + 60_000 };
      expect(await warehouse.loadedRows('brands-1', generation, stale)).toEqual({ failed: 0, partial: [[0, 1]] });
    });

    it('loads all slices at once', async () => {
      const staged = await stageText(dir, csv(...letters));
      const slices = await warehouse.openJob(staged.record, staged.files);
      expect(slices).toEqual([0, 1, 2]);
      await Promise.all(
        slices.map(async (slice) =>
          warehouse.load(batchOf(staged, slice, await buySlice(dir, warehouse, staged, slice, service))),
        ),
      );
      expect(names(await exported(dir, warehouse))).toBe('abcdefgh');
      expect(await warehouse.openJob(staged.record, staged.files)).toEqual([]);
    });

    it('loads nothing at all if one unit is missing', async () => {
      const staged = await stageText(dir, csv(...letters));
      await warehouse.openJob(staged.record, staged.files);
      const [file = ''] = await buySlice(dir, warehouse, staged, 0, service);
      const lines = readFileSync(file, 'utf8').split('\n');
      writeFileSync(file, `${lines[0]}\n${lines[0]}\n${lines[2]}\n`);
      await expect(warehouse.load(batchOf(staged, 0, [file]))).rejects.toThrow(/missing from its unit files/);
      await expect(warehouse.load(batchOf(staged, 0, []))).rejects.toThrow(/missing from its unit files/);
      expect(await test.values('SELECT count(*) FROM enriched_rows')).toEqual([[0]]);
      expect(await warehouse.loadedSlices('brands-1', staged.record.generation)).toEqual([]);
    });

    it('uses the newest line of a unit from any of the files, and skips a torn end', async () => {
      const staged = await stageText(dir, csv(...letters));
      await warehouse.openJob(staged.record, staged.files);
      const [old = ''] = await buySlice(dir, warehouse, staged, 0, service);
      service.now += 60_000;
      const [young = ''] = await buySlice(dir, warehouse, staged, 0, service);
      writeFileSync(old, `${readFileSync(old, 'utf8')}${readFileSync(young, 'utf8').split('\n')[0]}\n{"key":"torn`);
      await warehouse.load(batchOf(staged, 0, [young, old]));
      const rows = await test.values('SELECT request_id FROM enriched_rows ORDER BY row_number');
      expect(rows).toEqual([['request-4'], ['request-5'], ['request-6']]);
    });

    it('buys equal URLs once, gives each row the answer, and counts the cost once', async () => {
      const staged = await stageText(
        dir,
        csv('a,https://x.com/', 'b, https://x.com/', 'c,https://y.com/', 'd,https://x.com/', 'e,https://x.com/'),
      );
      await warehouse.openJob(staged.record, staged.files);
      const answers = new Map<string, string>();
      for (const slice of [1, 0]) {
        const files = await buySlice(dir, warehouse, staged, slice, service);
        for (const line of files.flatMap((file) => readFileSync(file, 'utf8').trim().split('\n'))) {
          const { key } = JSON.parse(line) as { key: string };
          if (!answers.has(key)) answers.set(key, line);
        }
        const journal = join(dir, `journal-${slice}.jsonl`);
        writeFileSync(journal, `${[...answers.values()].join('\n')}\n`);
        await warehouse.load(batchOf(staged, slice, [journal]));
      }
      const rows = await exported(dir, warehouse);
      expect(rows.map((row) => row.title)).toEqual(
        ['x', 'x', 'y', 'x', 'x'].map((name) => `Title of https://${name}.com/`),
      );
      expect(await bill()).toBe(2000);
    });

    it('refuses an attempt of an earlier generation of the file', async () => {
      const old = await stageText(dir, csv(...letters));
      await warehouse.openJob(old.record, old.files);
      const files = await buySlice(dir, warehouse, old, 0, service);
      const edited = await stageText(dir, csv('z,https://z.com/', ...letters));
      await warehouse.openJob(edited.record, edited.files);
      await expect(warehouse.load(batchOf(old, 0, files))).rejects.toThrow(WarehouseUnusable);
      expect(await test.values('SELECT count(*) FROM enriched_rows')).toEqual([[0]]);
    });
  });

  describe('a file that changed', () => {
    it('buys only the new rows of an edited file, moves the others, and marks vanished ones', async () => {
      await runJob(dir, warehouse, await stageText(dir, csv(...letters)), service);
      service.asked.length = 0;
      const edited = await stageText(dir, csv('n,https://n.com/', ...letters.slice(2), 'bad,nope', 'm,https://m.com/'));
      expect(await warehouse.loadedSlices('brands-1', edited.record.generation)).toEqual([]);
      await runJob(dir, warehouse, edited, service);
      expect(service.asked).toEqual(['https://n.com/', 'https://m.com/']);
      expect(names(await exported(dir, warehouse))).toBe('ncdefghbadm');
      expect(await warehouse.summary('brands-1')).toMatchObject({
        rows: 9,
        success: 8,
        invalid: 1,
        missing: 0,
        vanished: 2,
      });
      const vanished = await test.values(
        'SELECT url, row_number FROM enriched_rows WHERE vanished_at IS NOT NULL ORDER BY url',
      );
      expect(vanished).toEqual([
        ['https://a.com/', null],
        ['https://b.com/', null],
      ]);
    });

    it('loads nothing for a shuffled file, and a row that comes back is free', async () => {
      await runJob(dir, warehouse, await stageText(dir, csv(...letters)), service);
      const shuffled = await stageText(dir, csv(...letters.toReversed()));
      expect(await warehouse.openJob(shuffled.record, shuffled.files)).toEqual([]);
      expect(await warehouse.loadedSlices('brands-1', shuffled.record.generation)).toEqual([0, 1, 2]);
      expect(names(await exported(dir, warehouse))).toBe('hgfedcba');
      const fewer = await stageText(dir, csv(...letters.slice(0, 4)));
      expect(await warehouse.openJob(fewer.record, fewer.files)).toEqual([]);
      expect(await warehouse.summary('brands-1')).toMatchObject({ rows: 4, success: 4, vanished: 4 });
      const again = await stageText(dir, csv(...letters));
      expect(await warehouse.openJob(again.record, again.files)).toEqual([]);
      expect(names(await exported(dir, warehouse))).toBe('abcdefgh');
      expect(await warehouse.summary('brands-1')).toMatchObject({ rows: 8, success: 8, vanished: 0 });
      expect(service.asked).toHaveLength(8);
    });

    it('distinguishes equal rows by their order', async () => {
      const twice = csv('a,https://a.com/', 'a,https://a.com/', 'b,https://b.com/');
      await runJob(dir, warehouse, await stageText(dir, twice), service);
      const more = await stageText(
        dir,
        csv('a,https://a.com/', 'b,https://b.com/', 'a,https://a.com/', 'a,https://a.com/'),
      );
      expect(await warehouse.openJob(more.record, more.files)).toEqual([]);
      expect(names(await exported(dir, warehouse))).toBe('abaa');
      const once = await stageText(dir, csv('b,https://b.com/', 'a,https://a.com/'));
      expect(await warehouse.openJob(once.record, once.files)).toEqual([]);
      expect(await warehouse.summary('brands-1')).toMatchObject({ success: 2, vanished: 2 });
      expect(service.asked).toHaveLength(2);
      expect(await bill()).toBe(2000);
    });

    it('keeps the answer of a row when another column was edited', async () => {
      await runJob(dir, warehouse, await stageText(dir, csv(...letters)), service);
      const edited = await stageText(dir, csv(...letters.map((row, index) => (index === 4 ? `E${row}` : row))));
      expect(await warehouse.openJob(edited.record, edited.files)).toEqual([]);
      const rows = await exported(dir, warehouse);
      expect(rows[4]).toMatchObject({ name: 'Ee', title: 'Title of https://e.com/', request_id: 'request-5' });
      expect(await bill()).toBe(8000);
    });

    it('updates the line number in the message of a bad row', async () => {
      await runJob(dir, warehouse, await stageText(dir, csv('a,https://a.com/', 'bad,nope')), service);
      await runJob(
        dir,
        warehouse,
        await stageText(dir, csv('a,https://a.com/', 'b,https://b.com/', 'bad,nope')),
        service,
      );
      expect((await exported(dir, warehouse))[2]?.error_message).toContain('line 4');
    });

    it('continues when an edited file was half loaded', async () => {
      const staged = await stageText(dir, csv(...letters));
      await warehouse.openJob(staged.record, staged.files);
      await warehouse.load(batchOf(staged, 1, await buySlice(dir, warehouse, staged, 1, service)));
      const edited = await stageText(dir, csv(...letters.slice(1)));
      expect(await warehouse.openJob(edited.record, edited.files)).toEqual([0, 1, 2]);
      expect(await warehouse.summary('brands-1')).toMatchObject({ rows: 7, success: 3, missing: 4 });
      await runJob(dir, warehouse, edited, service);
      expect(service.asked).toHaveLength(7 + 0);
      expect(names(await exported(dir, warehouse))).toBe('bcdefgh');
    });

    it('shows answers of other options until they are replaced', async () => {
      const before = await stageText(dir, csv(...letters));
      await runJob(dir, warehouse, before, service);
      const other = await stageText(dir, csv(...letters), { options: { summary: {} } });
      expect(await warehouse.openJob(other.record, other.files)).toEqual([0, 1, 2]);
      expect(await warehouse.summary('brands-1')).toMatchObject({ success: 0, missing: 8, vanished: 0 });
      expect(names(await exported(dir, warehouse))).toBe('abcdefgh');
      await warehouse.load(batchOf(other, 0, await buySlice(dir, warehouse, other, 0, service)));
      const requests = (await exported(dir, warehouse)).map((row) => row.request_id?.slice(8));
      expect(requests.join(' ')).toBe('9 10 11 4 5 6 7 8');
      // The job has its first options again. Answers for them that are still in the warehouse are used; only answers that were replaced are
      // bought again.
      expect(await warehouse.openJob(before.record, before.files)).toEqual([0]);
      expect(await warehouse.summary('brands-1')).toMatchObject({ success: 5, missing: 3 });
      await runJob(dir, warehouse, before, service);
      expect(await warehouse.summary('brands-1')).toMatchObject({ success: 8, missing: 0, vanished: 0 });
      expect(await test.values('SELECT count(*) FROM enriched_rows')).toEqual([[8]]);
    });

    it('follows renamed, added and removed columns', async () => {
      await runJob(dir, warehouse, await stageText(dir, csv(...letters)), service);
      await runJob(dir, warehouse, await stageText(dir, `url,new\nhttps://a.com/,1\nhttps://n.com/,2\n`), service);
      const rows = await exported(dir, warehouse);
      expect(rows.map((row) => [row.url, row.new, row.status])).toEqual([
        ['https://a.com/', '1', 'success'],
        ['https://n.com/', '2', 'success'],
      ]);
      expect(service.asked).toHaveLength(9);
    });
  });

  describe('freshness', () => {
    it('buys outdated answers again, once', async () => {
      const staged = await stageText(dir, csv(...letters));
      await runJob(dir, warehouse, staged, service);
      const freshness = { freshAfter: service.now + 1000 };
      service.now += 3_600_000;
      expect(await warehouse.openJob(staged.record, staged.files, freshness)).toEqual([0, 1, 2]);
      expect(await warehouse.openJob(staged.record, staged.files, freshness)).toEqual([0, 1, 2]);
      expect(await warehouse.summary('brands-1')).toMatchObject({ success: 8, missing: 0 });
      await runJob(dir, warehouse, staged, service, freshness);
      expect(service.asked).toHaveLength(16);
      expect(await warehouse.openJob(staged.record, staged.files, freshness)).toEqual([]);
      expect(await test.values('SELECT count(*) FROM enriched_rows')).toEqual([[8]]);
      expect((await exported(dir, warehouse)).every((row) => row.fetched_at === '2026-11-20T11:00:00.000000Z')).toBe(
        true,
      );
    });

    it('retries only rows that failed with one of these tags', async () => {
      const tags = new Map([
        ['https://b.com/', 'CRAWL_TIMEOUT'],
        ['https://g.com/', 'CRAWL_NOT_FOUND'],
      ]);
      service = new Service((url) =>
        tags.has(url) ? { status: 'error', error_tag: tags.get(url) ?? null, result: null } : {},
      );
      const staged = await stageText(dir, csv(...letters));
      await runJob(dir, warehouse, staged, service);
      // Rows that failed since `retryBefore` are not retried.
      const before = { retryTags: ['CRAWL_TIMEOUT'], retryBefore: service.now };
      expect(await warehouse.openJob(staged.record, staged.files, before)).toEqual([]);
      const freshness = { retryTags: ['CRAWL_TIMEOUT'], retryBefore: service.now + 1000 };
      tags.clear();
      service.now += 60_000;
      expect(await warehouse.openJob(staged.record, staged.files, freshness)).toEqual([0]);
      await runJob(dir, warehouse, staged, service, freshness);
      expect(service.asked.slice(8)).toEqual(['https://b.com/']);
      expect(await warehouse.summary('brands-1')).toMatchObject({ success: 7, error: 1, tags: { CRAWL_NOT_FOUND: 1 } });
    });
  });

  describe('failed rows that are bought once more', () => {
    const rule = { tags: ['CRAWL_TIMEOUT'], onlyFree: true };
    const failed = (tag: string, cost_micros = 0): Partial<UnitRecord> => ({
      ...{ status: 'error', error_tag: tag, cost_micros, result: null },
    });
    const failures = (url: string): Partial<UnitRecord> => {
      if (/[bg]\./.test(url)) return failed('CRAWL_TIMEOUT');
      if (url.includes('d.')) return failed('CRAWL_NOT_FOUND');
      return url.includes('e.') ? failed('CRAWL_TIMEOUT', 1000) : {};
    };
    const ended = (staged: StagedTest, phase: 'done' | 'stopped', endedAt: number) => ({
      ...{ job: 'brands-1', run: `run-${endedAt}`, scheduled: false, generation: staged.record.generation, phase },
      ...{ startedAt: 0, endedAt, reason: null, message: null, rows: 9, success: 5, error: 4, invalid: 0, missing: 0 },
      ...{ vanished: 0, requests: 9, costMicros: 0 },
    });
    /** Buys and loads the rows of a second pass; returns what was asked for. */
    const secondPass = async (staged: StagedTest, pass: NonNullable<Awaited<ReturnType<typeof open>>>) => {
      const { tags: retryTags, before: retryBefore } = pass;
      const freshness = { retryTags, retryBefore, onlyMarked: true } as const;
      service.asked.length = 0;
      for (const slice of pass.slices)
        await warehouse.load(
          batchOf(staged, slice, await buySlice(dir, warehouse, staged, slice, service, freshness)),
          freshness,
        );
      return [...service.asked];
    };
    /** A service whose answers are newer than the job. */
    const laterService = (answer: (url: string) => Partial<UnitRecord>) => {
      const later = new Service(answer);
      later.now = Date.now() + 60_000;
      return later;
    };
    const open = (more: object = {}) => warehouse.openRetry('brands-1', { ...rule, ...more }, 'slice');

    it('are those with these tags whose failure cost nothing, each once between two complete runs', async () => {
      let answer = failures;
      service = laterService((url) => answer(url));
      // A row with the URL of another row fails with it.
      const staged = await stageText(dir, csv(...letters, 'again,https://b.com/'));
      await runJob(dir, warehouse, staged, service);
      const pass = await open();
      expect(pass).toEqual({ slices: [0, 2], units: 2, tags: ['CRAWL_TIMEOUT'], before: service.now + 1 });
      // A repeated call finds the same rows.
      expect(await open()).toEqual(pass);
      expect(await warehouse.loadedSlices('brands-1', staged.record.generation)).toEqual([1]);

      service.now += 60_000;
      answer = (url) => (url.includes('g.') ? failed('CRAWL_TIMEOUT') : {});
      expect(await secondPass(staged, pass as NonNullable<typeof pass>)).toEqual([
        ...['https://b.com/', 'https://g.com/', 'https://b.com/'],
      ]);
      expect(await warehouse.summary('brands-1')).toMatchObject({
        ...{ rows: 9, success: 6, error: 3, missing: 0 },
        tags: { CRAWL_TIMEOUT: 2, CRAWL_NOT_FOUND: 1 },
      });
      expect(await warehouse.loadedSlices('brands-1', staged.record.generation)).toEqual([0, 1, 2]);
      expect(await open()).toBeNull();
      // A stopped run changes nothing, and neither does the end of a complete one: its failures are older.
      await warehouse.recordRun(ended(staged, 'stopped', service.now + 1000));
      expect(await open()).toBeNull();
      await warehouse.recordRun(ended(staged, 'done', service.now + 2000));
      expect(await open()).toBeNull();
    });

    it('can be loaded by their units: the rows keep their cells, slices and ledger lines', async () => {
      service = laterService(failures);
      const again = ['again\u0000,https://b.com/', 'bad,'];
      const staged = await stageText(dir, csv(...letters, ...again));
      await runJob(dir, warehouse, staged, service);
      const { job, generation } = staged.record;
      const cells = async () => (await exported(dir, warehouse)).map(({ name, url }) => [name, url]);
      const before = await cells();
      const pass = await warehouse.openRetry(job, rule, 'unit');
      expect(pass).toEqual({ slices: [0, 2], units: 2, tags: ['CRAWL_TIMEOUT'], before: service.now + 1 });
      expect(await warehouse.loadedSlices(job, generation)).toEqual([0, 1, 2, 3]);
      const units = await warehouse.retryUnits(job, { from: 0, to: 4 });
      expect(units).toEqual([
        { key: expect.any(String), unit: 'https://b.com/', row: 2, slice: 0 },
        { key: expect.any(String), unit: 'https://g.com/', row: 7, slice: 2 },
      ]);
      expect(await warehouse.retryUnits(job, { from: 1, to: 4 })).toEqual(units.slice(1));

      const later = new Service((url) => (url.includes('g.') ? failed('CRAWL_TIMEOUT') : {}));
      later.now = service.now + 60_000;
      const unitFiles = [
        unitFile(
          dir,
          units.map(({ key, unit }) => later.buy(key, unit)),
        ),
      ];
      const keys = units.map(({ key }) => key);
      const batch = { job, generation, unitFiles, keys };
      await expect(warehouse.loadRetry({ ...batch, generation: 'another' })).rejects.toThrow('other content');
      await expect(warehouse.loadRetry({ ...batch, unitFiles: [] })).rejects.toThrow('missing');
      expect(await warehouse.loadRetry({ ...batch, keys: keys.slice(0, 1) })).toEqual({ rows: 2 });
      expect(await warehouse.loadRetry(batch)).toEqual({ rows: 1 });
      expect(await warehouse.loadRetry(batch)).toEqual({ rows: 0 });
      expect(await warehouse.retryUnits(job, { from: 0, to: 4 })).toEqual([]);
      expect(await warehouse.openRetry(job, rule, 'unit')).toBeNull();
      expect(await warehouse.loadedSlices(job, generation)).toEqual([0, 1, 2, 3]);
      expect(await cells()).toEqual(before);
      // Only the first row of a unit has the cost of its answer.
      const stored = 'SELECT row_number, slice, status, title, cost_micros FROM row_store';
      expect(await test.values(`${stored} WHERE unit_key IN ('${keys.join("', '")}') ORDER BY 1`)).toEqual([
        [2, 0, 'success', 'Title of https://b.com/', 1000],
        [7, 2, 'error', null, 0],
        [9, 2, 'success', 'Title of https://b.com/', 0],
      ]);
      expect(await warehouse.openJob(staged.record, staged.files)).toEqual([]);
    });

    it('are failures with a cost, too, if the rule says so, and never rows beside a success of the same answer', async () => {
      service = laterService(failures);
      await runJob(dir, warehouse, await stageText(dir, csv(...letters)), service);
      expect(await open({ onlyFree: false })).toMatchObject({ slices: [0, 1, 2], units: 3 });
    });

    it('keep their marks until they are loaded again, so that a later run continues', async () => {
      service = laterService(failures);
      const staged = await stageText(dir, csv(...letters));
      await runJob(dir, warehouse, staged, service);
      const pass = await open();
      service.now += 60_000;
      // Another run opens the job before the rows are bought: it loads nothing, and its own second pass has the same rows.
      expect(await warehouse.openJob(staged.record, staged.files)).toEqual([0, 2]);
      for (const slice of [0, 2]) await warehouse.load(batchOf(staged, slice, []));
      expect(await open()).toEqual(pass);
      await warehouse.recordRun(ended(staged, 'done', service.now + 1000));
      expect(await open()).toEqual(pass);
      const { now } = service;
      service = new Service();
      service.now = now + 60_000;
      expect(await secondPass(staged, pass as NonNullable<typeof pass>)).toHaveLength(2);
      expect(await open()).toBeNull();
    });
  });

  describe('discarded rows', () => {
    const tags = ['CRAWL_TIMEOUT', 'MISSING_URL'];
    const rowsOf = async (marked: 'retry' | 'discarded') =>
      (await warehouse.failedUnits('brands-1', { marked })).map(({ tag, rows }) => [tag, rows]);

    it('do not count as failed, are not retried, and count again once that is undone', async () => {
      service = new Service((url) =>
        /[bg]\./.test(url) ? { status: 'error', error_tag: 'CRAWL_TIMEOUT', cost_micros: 0, result: null } : {},
      );
      const staged = await stageText(dir, csv(...letters, 'again,https://b.com/', 'bad,'));
      await runJob(dir, warehouse, staged, service);
      expect(await warehouse.failedUnits('brands-1', { tags })).toEqual([
        { key: expect.any(String), unit: 'https://b.com/', tag: 'CRAWL_TIMEOUT', rows: 2, slice: 0 },
        { key: expect.any(String), unit: 'https://g.com/', tag: 'CRAWL_TIMEOUT', rows: 1, slice: 2 },
        { key: null, unit: null, tag: 'MISSING_URL', rows: 1, slice: 3 },
      ]);
      const before = await warehouse.summary('brands-1');
      expect(before).toMatchObject({ success: 6, error: 3, invalid: 1, tags: { CRAWL_TIMEOUT: 3, MISSING_URL: 1 } });
      // The row with the same URL is discarded, too.
      await warehouse.markRows('brands-1', 'discarded', { rows: [2, 10] });
      await warehouse.markRows('brands-1', 'discarded', { rows: [2] });
      expect(await warehouse.summary('brands-1')).toEqual({ ...before, discarded: 3, tags: { CRAWL_TIMEOUT: 1 } });
      expect(await rowsOf('discarded')).toEqual([
        ['CRAWL_TIMEOUT', 2],
        ['MISSING_URL', 1],
      ]);
      const { groups } = await warehouse.failedRows('brands-1', { tags: [], limit: 9 });
      expect(groups).toMatchObject([{ tag: 'CRAWL_TIMEOUT', rows: 1 }]);
      const retryFailed = { retryTags: ['CRAWL_TIMEOUT'], retryBefore: service.now + 1000 };
      expect(await warehouse.openJob(staged.record, staged.files, retryFailed)).toEqual([2]);
      await warehouse.unmarkRows('brands-1', { tags });
      expect(await warehouse.summary('brands-1')).toEqual(before);
      expect(await warehouse.openJob(staged.record, staged.files, retryFailed)).toEqual([0, 2]);
    });

    it('are bought again on request, and are no longer discarded then', async () => {
      service = new Service(() => ({ status: 'error', error_tag: 'CRAWL_TIMEOUT', cost_micros: 0, result: null }));
      await runJob(dir, warehouse, await stageText(dir, csv(...letters)), service);
      await warehouse.markRows('brands-1', 'discarded', { tags });
      expect(await warehouse.openRetry('brands-1', { tags: [], onlyFree: true }, 'slice')).toBeNull();
      await warehouse.markRows('brands-1', 'retry', { rows: [1, 4] });
      expect(await rowsOf('retry')).toEqual([
        ['CRAWL_TIMEOUT', 1],
        ['CRAWL_TIMEOUT', 1],
      ]);
      expect((await warehouse.summary('brands-1')).discarded).toBe(6);
      expect(await warehouse.openRetry('brands-1', { tags: [], onlyFree: true }, 'slice')).toMatchObject({
        ...{ slices: [0, 1], units: 2, before: service.now + 1 },
      });
      expect(await warehouse.rowStates('brands-1', [1, 99])).toEqual([
        { row: 1, status: 'error', tag: 'CRAWL_TIMEOUT' },
      ]);
    });
  });

  describe('the facts of answers', () => {
    const facts = `row_number, slice, job, origin, url, status, error_tag, error_message, http_status, source, title, author,
      published_date, request_id, cost_micros`;
    const stored = (more = '') => test.values(`SELECT ${facts} FROM row_store ${more} ORDER BY row_number`);
    const failure = { status: 'error', error_tag: 'CRAWL_TIMEOUT', http_status: 504, source: 'live' } as const;
    /** Four kinds of answers: with all facts, without a price, failed, and failed without a message. */
    const answer = (url: string): Partial<UnitRecord> => {
      if (url.includes('a.')) return { result: { title: 'T', author: 'A', publishedDate: '2026-01-02', text: 'x' } };
      if (url.includes('b.')) return { http_status: null, source: null, result: { title: 1 }, cost_micros: 0 };
      if (url.includes('c.')) return { ...failure, cost_micros: 0, result: { error: { message: 'too slow' } } };
      return { ...failure, error_tag: 'CRAWL_NOT_FOUND', cost_micros: 0, result: { error: 'gone' } };
    };
    const abcd = letters.slice(0, 4);
    const ofA = ['T', 'A', '2026-01-02', 'request-1'];
    const ofC = ['CRAWL_TIMEOUT', 'too slow', 504, 'live', null, null, null, 'request-3', 0];
    const ofD = ['CRAWL_NOT_FOUND', 'gone', 504, 'live', null, null, null, 'request-4', 0];

    it('have columns of their own, on each row with the answer', async () => {
      service = new Service(answer);
      await runJob(dir, warehouse, await stageText(dir, csv(...abcd, 'again,https://a.com/')), service);
      const of = (name: string) => ['brands-1', 'sandbox', `https://${name}.com/`];
      expect(await stored()).toEqual([
        [1, 0, ...of('a'), 'success', null, null, 200, 'crawled', ...ofA, 1000],
        [2, 0, ...of('b'), 'success', null, null, null, null, '1', null, null, 'request-2', 0],
        [3, 0, ...of('c'), 'error', ...ofC],
        [4, 1, ...of('d'), 'error', ...ofD],
        [5, 1, ...of('a'), 'success', null, null, 200, 'crawled', ...ofA.slice(0, 3), 'request-5', 0],
      ]);
      // Two new rows come before the others. They get the answers of their URLs; the row that bought an answer keeps its cost.
      await runJob(
        dir,
        warehouse,
        await stageText(dir, csv('new,https://c.com/', 'other,https://a.com/', ...abcd)),
        service,
      );
      expect(service.asked).toHaveLength(5);
      expect((await stored('WHERE row_number <= 2')).map((row) => row.slice(4))).toEqual([
        ['https://c.com/', 'error', 'CRAWL_TIMEOUT', null, 504, 'live', null, null, null, 'request-3', 0],
        ['https://a.com/', 'success', null, null, 200, 'crawled', 'T', 'A', '2026-01-02', expect.any(String), 0],
      ]);
      expect(await test.values('SELECT sum(cost_micros) FROM row_store')).toEqual([[1000]]);
    });

    it('are returned by key with their cost, and the answers are returned unchanged', async () => {
      expect([
        await warehouse.holdsAnswers(),
        (await warehouse.known(['x'])).size,
        await warehouse.answers(['x']),
      ]).toEqual([false, 0, []]);
      service = new Service(answer);
      const staged = await stageText(dir, csv(...abcd, 'again,https://a.com/', 'bad,nope'), { rowsPerSlice: 10 });
      await warehouse.openJob(staged.record, staged.files);
      const keys = await warehouse.pendingKeys('brands-1', staged.files[0] as string);
      expect(await warehouse.holdsAnswers()).toBe(false);
      await runJob(dir, warehouse, staged, service);
      expect(await warehouse.holdsAnswers()).toBe(true);
      expect(await warehouse.known([...keys, 'x'])).toEqual(
        new Map([1000, 0, 0, 0].map((micros, nth) => [keys[nth] as string, micros])),
      );
      const found = [...(await warehouse.answers([...keys, 'x']))].sort((one, two) =>
        String(one.requestId).localeCompare(String(two.requestId)),
      );
      const plain = found.map(({ outcome, ...facts }) => ({
        ...facts,
        ...outcome,
        result: JSON.parse((outcome.result as unknown as { readonly text: string }).text),
      }));
      const factsOf = (nth: number, changes: object) => ({
        ...{ requestId: `request-${nth + 1}`, fetchedAt: service.now, key: keys[nth], costMicros: 0 },
        ...{ unit: `https://${'abcd'[nth]}.com/`, errorTag: null, ...changes },
      });
      expect(plain).toEqual([
        factsOf(0, {
          status: 'success',
          httpStatus: 200,
          source: 'crawled',
          result: { title: 'T', author: 'A', publishedDate: '2026-01-02', text: 'x' },
        }),
        factsOf(1, { status: 'success', httpStatus: null, source: null, result: { title: 1 } }),
        factsOf(2, {
          status: 'error',
          errorTag: 'CRAWL_TIMEOUT',
          httpStatus: 504,
          source: 'live',
          result: { error: { message: 'too slow' } },
        }),
        factsOf(3, {
          status: 'error',
          errorTag: 'CRAWL_NOT_FOUND',
          httpStatus: 504,
          source: 'live',
          result: { error: 'gone' },
        }),
      ]);
      // Answers that are too old, or failures that are to be retried, are left out.
      const retry = { retryTags: ['CRAWL_TIMEOUT'], retryBefore: service.now + 1 };
      expect([...(await warehouse.known(keys, retry)).keys()].sort()).toEqual(
        keys.filter((_, nth) => nth !== 2).sort(),
      );
      expect(await warehouse.answers(keys, { freshAfter: service.now + 1 })).toEqual([]);
      expect(await warehouse.answers(keys.slice(0, 2), { freshAfter: service.now })).toHaveLength(2);
      expect([(await warehouse.known([])).size, await warehouse.answers([])]).toEqual([0, []]);
      // Of two answers for a unit the newer one is returned.
      service.now += 1000;
      await runJob(dir, warehouse, await stageText(dir, csv('z,https://a.com/'), { job: 'other-1' }), service, {
        freshAfter: service.now,
      });
      expect(await warehouse.answers(keys.slice(0, 1))).toMatchObject([
        { requestId: 'request-5', fetchedAt: service.now },
      ]);
    });

    it('show deleted rows, and outdated answers', async () => {
      const staged = await stageText(dir, csv(...letters));
      await expect(warehouse.unloadedSlices(staged.record)).rejects.toThrow(/was deleted or replaced/);
      await runJob(dir, warehouse, staged, service);
      expect(await warehouse.unloadedSlices(staged.record)).toEqual([]);
      expect(await warehouse.unloadedSlices(staged.record, { freshAfter: service.now })).toEqual([]);
      await expect(warehouse.unloadedSlices({ ...staged.record, generation: 'other' })).rejects.toThrow(
        /other content/,
      );
      await test.values('DELETE FROM row_store WHERE row_number = 5');
      expect(await warehouse.loadedSlices('brands-1', staged.record.generation)).toEqual([0, 2]);
      expect(await warehouse.unloadedSlices(staged.record)).toEqual([1]);
      expect(await warehouse.unloadedSlices(staged.record, { freshAfter: service.now + 1 })).toEqual([0, 1, 2]);
    });

    it('keep the first time at which a row vanished, and outdated answers are bought again for a changed file', async () => {
      service = new Service((url) => (url.includes('b.') ? { ...failure, result: null } : {}));
      await runJob(dir, warehouse, await stageText(dir, csv(...abcd)), service);
      const vanished = () =>
        test.values(
          `SELECT url, CAST(vanished_at AS VARCHAR) FROM row_store WHERE vanished_at IS NOT NULL ORDER BY url`,
        );
      await runJob(dir, warehouse, await stageText(dir, csv(...abcd.slice(0, 3))), service);
      const first = await vanished();
      expect(first.map(([url]) => url)).toEqual(['https://d.com/']);
      await runJob(dir, warehouse, await stageText(dir, csv(...abcd.slice(0, 2))), service);
      const both = await vanished();
      expect([both.length, both[1]]).toEqual([2, first[0]]);
      expect(await warehouse.summary('brands-1')).toMatchObject({
        rows: 2,
        success: 1,
        error: 1,
        missing: 0,
        vanished: 2,
      });
      service.now += 1000;
      const retry = { retryTags: ['CRAWL_TIMEOUT'], retryBefore: service.now };
      await runJob(dir, warehouse, await stageText(dir, csv(abcd[1] as string, abcd[0] as string)), service, retry);
      expect(service.asked.slice(4)).toEqual(['https://b.com/']);
    });

    it('come from the newest answer if several rows have one', async () => {
      await runJob(dir, warehouse, await stageText(dir, csv('one,https://a.com/')), service);
      service.now += 1000;
      const newer = { freshAfter: service.now };
      await runJob(dir, warehouse, await stageText(dir, csv('two,https://a.com/')), service, newer);
      await runJob(dir, warehouse, await stageText(dir, csv('three,https://a.com/')), service);
      expect(await test.values('SELECT request_id FROM row_store WHERE vanished_at IS NULL')).toEqual([['request-2']]);
    });
  });

  describe('values', () => {
    it('keeps unknown fields of a response', async () => {
      const result = {
        title: 'T',
        extras: { links: [1, null, '', 0, false] },
        'new field': { deep: [{ a: 'b' }] },
        text: null,
      };
      await runJob(dir, warehouse, await stageText(dir, csv('a,https://a.com/')), new Service(() => ({ result })));
      const [[response] = []] = await test.values('SELECT response::VARCHAR FROM enriched_rows');
      expect(JSON.parse(String(response))).toEqual(result);
    });

    it('stores NUL, quotes, emoji, a megabyte of text, huge numbers and half surrogates', async () => {
      const text = `\0'"\\ud800 \u2028 😀 \r\n${'x'.repeat(1_000_000)}`;
      const raw = (json: string) =>
        json.replace('"HUGE"', '1e400').replace('HALF', '\\ud800').replace('PAIR', '\\ud83d\\ude00');
      const answer = { result: { title: `O'Brien "😀"`, author: 'half HALF pair PAIR', n: 'HUGE', text } };
      await runJob(
        dir,
        warehouse,
        await stageText(dir, csv('a,https://a.com/', 'b,https://b.com/')),
        new Service(() => answer),
        undefined,
        raw,
      );
      const rows = await test.values(
        'SELECT title, author, text, response::VARCHAR FROM enriched_rows ORDER BY row_number',
      );
      expect(rows).toHaveLength(2);
      for (const [title, author, stored, response] of rows) {
        expect(title).toBe(`O'Brien "😀"`);
        expect(author).toBe('half \\ud800 pair 😀');
        expect(stored).toBe(text.replace('\0', test.nul));
        expect(response).toContain('"n":1e400');
      }
    });

    it('writes the cells of the input unchanged, for any content', async () => {
      const cells = [
        '=1+1',
        "O'Brien",
        'say ""hi""',
        ' spaced ',
        'a\nb\r\nc',
        '#no',
        'ä😀',
        '',
        '\0',
        'null',
        '\\N',
        ';',
      ];
      const text = `${cells.map((_, index) => `c${index}`).join(',')},url\n${cells.map((cell) => `"${cell}"`).join(',')},https://a.com/\n`;
      await runJob(dir, warehouse, await stageText(dir, text), service);
      const [row] = await exported(dir, warehouse);
      expect(cells.map((_, index) => row?.[`c${index}`])).toEqual(cells.map((cell) => cell.replaceAll('""', '"')));
    });

    it('makes text from the web harmless for spreadsheets and terminals, and changes nothing else', async () => {
      const titles = [
        '=cmd|1',
        '+1',
        '-1',
        '@x',
        '\t=1',
        '\0=1',
        '  =1',
        '\u200b=1',
        '＝1',
        '\x1b[31mred',
        'plain - text',
        'line\r\nbreak',
        'a;=HYPERLINK("http://x","y")',
        "a\n  +cmd|'/c calc'!A0",
        'a\t"@SUM(1+1)*cmd|\u0027 /c x\u0027!A0',
        'a;b;-1+WEBSERVICE("http://x")',
        "a\n='http://x/[b.xls]s'!A1",
        'list\n- one (two)\n- three!\n=====\n+1\n@me, f(x)',
      ];
      const service = new Service((url) => ({
        result: { title: titles[Number(url.split('/')[3])] ?? '', text: '=1' },
      }));
      await runJob(
        dir,
        warehouse,
        await stageText(dir, csv(...titles.map((_, index) => `=${index},https://a.com/${index}`))),
        service,
      );
      const rows = await exported(dir, warehouse);
      expect(rows.map((row) => row.title)).toEqual([
        "'=cmd|1",
        "'+1",
        "'-1",
        "'@x",
        "'\t=1",
        '\\u0000=1',
        "'  =1",
        "'\u200b=1",
        "'＝1",
        '[31mred',
        'plain - text',
        'line\nbreak',
        `a;'=HYPERLINK("http://x","y")`,
        "a\n  '+cmd|'/c calc'!A0",
        `a\t"'@SUM(1+1)*cmd|' /c x'!A0`,
        `a;b;'-1+WEBSERVICE("http://x")`,
        "a\n'='http://x/[b.xls]s'!A1",
        "list\n- one (two)\n- three!\n=====\n+1\n'@me, f(x)",
      ]);
      expect(rows.every((row, index) => row.name === `=${index}` && row.text === "'=1")).toBe(true);
    });

    it('accepts column names that are keywords, differ in case only, clash with its own, or are unusual', async () => {
      const columns = [
        'select',
        'URL',
        'status',
        'title',
        'result_title',
        'Text',
        'a""b',
        "it's",
        '; DROP TABLE x',
        '',
        'row_number',
      ];
      const text = `url,${columns.map((name) => `"${name}"`).join(',')}\nhttps://a.com/,${columns.map((_, index) => index).join(',')}\n`;
      await runJob(dir, warehouse, await stageText(dir, text, { name: 'it\'s "select"', urlColumn: 'url' }), service);
      const [row] = await exported(dir, warehouse);
      expect(columns.map((name) => row?.[name.replaceAll('""', '"')])).toEqual(
        columns.map((_, index) => String(index)),
      );
      expect(row).toMatchObject({
        result_status: 'success',
        result_result_title: 'Title of https://a.com/',
        result_text: 'Text of https://a.com/',
      });
    });
  });

  describe('other behaviour', () => {
    it('returns null for a missing job or warehouse, and creates none', async () => {
      const before = readdirSync(dir);
      expect(await warehouse.loadedSlices('nobody', 'x')).toBeNull();
      expect(await warehouse.holdsRows('nobody')).toBe(false);
      await expect(warehouse.summary('nobody')).rejects.toThrow(/no job nobody/);
      await expect(warehouse.exportCsv('nobody', join(dir, 'x.csv'))).rejects.toThrow(/no job nobody/);
      expect(readdirSync(dir)).toEqual(before);
    });

    it('keeps jobs apart', async () => {
      const one = await stageText(dir, csv(...letters));
      const two = await stageText(dir, csv('z,https://a.com/'), { job: 'other-1', name: 'brands' });
      await runJob(dir, warehouse, one, service);
      await runJob(dir, warehouse, two, service);
      expect(await warehouse.holdsRows('other-1')).toBe(true);
      expect(await warehouse.holdsRows('third-1')).toBe(false);
      expect(names(await exported(dir, warehouse, 'other-1'))).toBe('z');
      expect(names(await exported(dir, warehouse))).toBe('abcdefgh');
      expect(await warehouse.summary('other-1')).toMatchObject({ rows: 1, success: 1 });
    });

    it('records the end of a run once', async () => {
      const rows = { rows: 8, success: 7, error: 0, invalid: 0, missing: 1, vanished: 2 };
      const run: RunRecord = {
        ...{ job: 'brands-1', run: 'r1', scheduled: true, generation: 'g1', ...rows, requests: 3, costMicros: 7000 },
        ...{ startedAt: 1_700_000_000_123, endedAt: 1_700_000_001_000 },
        ...{ phase: 'stopped', reason: 'budget', message: "it's used up; DROP TABLE x" },
      };
      await warehouse.recordRun(run);
      await warehouse.recordRun({
        ...{ ...run, phase: 'done', reason: null, message: null, endedAt: run.endedAt + 1000 },
        ...{ rows: 18, success: 17, error: 1, invalid: 2, missing: 0, vanished: 3, requests: 4, costMicros: 8000 },
      });
      await warehouse.recordRun({ ...run, run: 'r2', scheduled: false });
      expect(
        await test.values(
          `SELECT job, run, scheduled, generation, phase, reason, message, rows, success, error, invalid, missing, vanished,
             requests, cost_micros FROM searchflow_runs ORDER BY run`,
        ),
      ).toEqual([
        ['brands-1', 'r1', true, 'g1', 'done', null, null, 18, 17, 1, 2, 0, 3, 4, 8000],
        ['brands-1', 'r2', false, 'g1', 'stopped', 'budget', run.message, 8, 7, 0, 0, 1, 2, 3, 7000],
      ]);
      const apart = await test.values(
        `SELECT CAST(ended_at - started_at AS VARCHAR) FROM searchflow_runs ORDER BY run`,
      );
      expect(apart).toEqual([[expect.stringContaining('00:00:01.877')], [expect.stringContaining('00:00:00.877')]]);
    });

    it('reports the columns that differ from those of the run before', async () => {
      const run: RunRecord = {
        ...{ job: 'brands-1', run: 'r1', scheduled: true, generation: 'g1', requests: 3, costMicros: 7000 },
        ...{ rows: 8, success: 7, error: 0, invalid: 0, missing: 1, vanished: 2 },
        ...{ startedAt: 1_700_000_000_000, endedAt: 1_700_000_001_000, phase: 'done', reason: null, message: null },
      };
      const open = async (columns: readonly string[], size: string, generation: string) => {
        const outputSchema = { properties: { size: { type: size }, [`extra_${generation}`]: {} } } as Json;
        await warehouse.openJob({ ...job, operation: 'agent', columns, generation, options: { outputSchema } }, []);
      };
      const job = { job: 'brands-1', name: 'brands', origin: 'sandbox', input: '-', rows: 0, slices: 0 };
      await open(['name', 'city'], 'integer', 'a');
      expect(await warehouse.recordRun(run)).toEqual([]);
      expect((await warehouse.summary('brands-1')).schemaChanges).toBeUndefined();
      await open(['name', 'land'], 'string', 'b');
      const changes = [
        { of: 'input', name: 'land', change: 'added' },
        { of: 'output', name: 'size', change: 'type', from: 'integer', to: 'text' },
        { of: 'output', name: 'extra_b', change: 'added' },
        { of: 'input', name: 'city', change: 'removed' },
        { of: 'output', name: 'extra_a', change: 'removed' },
      ];
      // A second record of the same run has the same changes.
      for (const endedAt of [run.endedAt + 1000, run.endedAt + 2000])
        expect(await warehouse.recordRun({ ...run, run: 'r2', endedAt })).toEqual(changes);
      expect(await warehouse.summary('brands-1')).toMatchObject({ schemaChanges: changes });
      const kept = await test.values('SELECT CAST(schema_changes AS VARCHAR) FROM searchflow_runs ORDER BY run');
      expect(kept.map(([one]) => one && JSON.parse(one as string))).toEqual([null, changes]);
      expect(await warehouse.recordRun({ ...run, run: 'r3', endedAt: run.endedAt + 3000 })).toEqual([]);
      expect((await warehouse.summary('brands-1')).schemaChanges).toBeUndefined();
    });

    it('adds up the figures of a report, which equal the figures of SQL', async () => {
      service = new Service((url) =>
        url.includes('d.')
          ? { status: 'error', error_tag: 'CRAWL_NOT_FOUND', http_status: 404, result: null }
          : { result: { url, title: url.includes('a.') ? null : '<b>title</b>' } },
      );
      const rows = [...letters, 'i,https://A.com/other?q=1', 'bad,nope'];
      await runJob(dir, warehouse, await stageText(dir, csv(...rows)), service);
      const base = {
        job: 'brands-1',
        generation: 'g',
        scheduled: false,
        phase: 'done',
        reason: null,
        message: null,
      } as const;
      const counts = {
        rows: 10,
        success: 8,
        error: 1,
        invalid: 1,
        missing: 0,
        vanished: 0,
        requests: 9,
        costMicros: 9000,
      };
      for (const nth of [1, 2, 3])
        await warehouse.recordRun({
          ...base,
          ...counts,
          run: `r${nth}`,
          startedAt: nth * 1000,
          endedAt: nth * 1000 + 500,
        });
      const figures = await warehouse.figures({
        ...{ job: 'brands-1', since: Date.now() + 86_400_000, stepMs: 3_600_000, mostRuns: 2 },
      });
      expect(figures.summary).toEqual(await warehouse.summary('brands-1'));
      const tags = await test.objects(
        'SELECT status, error_tag AS tag, count(*) AS rows FROM brands GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2',
      );
      expect(figures.tags).toEqual(
        tags.map(({ status, tag, rows: number }) => ({ status, tag, rows: Number(number) })),
      );
      expect(figures.loads).toMatchObject([{ rows: 10, failed: 2 }]);
      expect(figures.viewRows).toBe(10);
      for (const column of ['name', 'title', 'error_tag', 'status', 'response', 'fetched_at']) {
        const [found] = await test.objects(`SELECT count(*) FILTER (WHERE ${column} IS NULL) AS nulls FROM brands`);
        expect(figures.nulls).toContainEqual({ column, nulls: Number(found?.nulls) });
      }
      expect(figures.runs.map(({ run }) => run)).toEqual(['r3', 'r2']);
      const { generation, ...recorded } = base;
      expect(figures.runs[0]).toEqual({ ...recorded, ...counts, run: 'r3', startedAt: 3000, endedAt: 3500 });
      expect(generation).toBe('g');
      expect((await warehouse.lastRuns(1)).map(({ run }) => run)).toEqual(['r3']);
      await expect(warehouse.figures({ job: 'nope', since: 0, stepMs: 1, mostRuns: 1 })).rejects.toThrow(
        'There is no job nope',
      );
    });

    it('records an unknown outcome once', async () => {
      const outcome: UnknownOutcome = {
        book: 'b/1',
        operation: 'contents',
        keys: ['k1', 'k2'],
        intendedAt: 1_700_000_000_123,
        reason: 'reset',
        estimateMicros: 2000,
      };
      await warehouse.recordUnknown('brands-1', [outcome, { ...outcome, keys: ['k3'] }]);
      await warehouse.recordUnknown('brands-1', [{ ...outcome, reason: "'; DROP TABLE x", estimateMicros: 3000 }]);
      await warehouse.recordUnknown('brands-1', []);
      expect(
        await test.values(
          'SELECT job, book, operation, reason, estimate_micros FROM unknown_outcomes ORDER BY estimate_micros',
        ),
      ).toEqual([
        ['brands-1', 'b/1', 'contents', 'reset', 2000],
        ['brands-1', 'b/1', 'contents', "'; DROP TABLE x", 3000],
      ]);
    });

    it('replaces the exported file as a whole and leaves no other', async () => {
      await runJob(dir, warehouse, await stageText(dir, csv(...letters)), service);
      const out = join(dir, 'new', 'out.csv');
      const first = await warehouse.exportCsv('brands-1', out);
      expect(first).toEqual({ rows: 8, bytes: readFileSync(out).length });
      await warehouse.exportCsv('brands-1', out);
      expect(readdirSync(join(dir, 'new'))).toEqual(['out.csv']);
      await expect(warehouse.exportCsv('brands-1', join(out, 'below.csv'))).rejects.toThrow(WarehouseUnusable);
      expect(readFileSync(out).length).toBe(first.bytes);
    });

    it('exports a CSV with any delimiter and a byte order mark, and a column of the extra cells if rows have some', async () => {
      const text =
        'name;url;extra_cells\na;https://a.com/;"x;y"\n"=q""";nope;\nd;https://d.com/;1;2;"3 ""x"""\n;https://e.com/;;;\n';
      const title = 'one, =HYPERLINK("http://x")';
      const answer = new Service((url) => ({ result: { title, text: `of\n${url}|\t'` } }));
      await runJob(dir, warehouse, await stageText(dir, text), answer);
      const out = join(dir, 'out.csv');
      const written = async (delimiter: string, bom = false) => {
        await warehouse.exportCsv('brands-1', out, { delimiter, bom });
        return parse(readFileSync(out), { delimiter, bom }) as string[][];
      };
      const usual = await written(',');
      const [names = [], ...rows] = usual;
      expect(names.slice(0, 3)).toEqual(['name', 'url', 'extra_cells']);
      expect(names.at(-1)).toBe('result_extra_cells');
      expect(rows.map((row) => [row[0], row.length, row.at(-1)])).toEqual([
        ['a', names.length, ''],
        ['=q"', names.length, ''],
        ['d', names.length, '["2","3 \\"x\\""]'],
        ['', names.length, '["",""]'],
      ]);
      expect(rows[0]?.[names.indexOf('title')]).toBe(title);
      for (const delimiter of [';', '\t', '|', ' ', 'a', "'", '\\', '.', '-', '\u0001', '[']) {
        const table = await written(delimiter);
        // With another delimiter a spreadsheet may separate the text at its commas.
        const guarded = title.replace('=', "'=");
        expect(table[1]?.[names.indexOf('title')]).toBe(guarded);
        expect(table.map((row) => row.map((cell) => (cell === guarded ? title : cell)))).toEqual(usual);
      }
      expect(await written(',', true)).toEqual(usual);
      expect(readFileSync(out).subarray(0, 7).toString()).toBe('\ufeffname');
      // Without rows with extra cells there is no column for them.
      await runJob(dir, warehouse, await stageText(dir, 'name;url\na;https://a.com/\nb\n'), answer);
      expect((await written(';'))[0]).not.toContain('extra_cells');
    });

    it('exports Parquet files in a directory that is replaced as a whole, with unchanged values', async () => {
      const answer = new Service((url) => ({
        result: { title: '=1+1', text: 'a\tb', n: url.length, highlights: ['h'] },
      }));
      await runJob(dir, warehouse, await stageText(dir, csv(...letters, '"b\0ad",nope')), answer);
      const out = join(dir, 'new', 'parquet');
      const exportedTo = await warehouse.exportParquet('brands-1', out);
      expect(exportedTo).toMatchObject({ rows: 9, files: 1 });
      expect(readdirSync(out)).toEqual(['part-00000.parquet']);
      const rows = await parquetRows(out);
      expect(rows.map((row) => row.name)).toEqual([...'abcdefgh', 'b\0ad']);
      expect(rows[0]).toEqual({
        name: 'a',
        url: 'https://a.com/',
        status: 'success',
        error_tag: null,
        error_message: null,
        http_status: 200,
        title: '=1+1',
        author: null,
        published_date: null,
        text: 'a\tb',
        highlights: '["h"]',
        summary: null,
        response: '{"title":"=1+1","text":"a\\tb","n":14,"highlights":["h"]}',
        request_id: 'request-1',
        cost_dollars: '0.001000',
        fetched_at: '2026-11-20 10:00:00',
        row_number: '1',
      });
      await runJob(dir, warehouse, await stageText(dir, csv(...letters.slice(2))), answer);
      expect(await warehouse.exportParquet('brands-1', out)).toMatchObject({ rows: 6, files: 1 });
      expect((await parquetRows(out)).map((row) => row.row_number)).toEqual(['1', '2', '3', '4', '5', '6']);
      expect(readdirSync(join(dir, 'new'))).toEqual(['parquet']);
      writeFileSync(join(out, 'mine.txt'), '');
      await expect(warehouse.exportParquet('brands-1', out)).rejects.toThrow(
        /files that are not of an export.*mine\.txt/,
      );
      await expect(warehouse.exportParquet('brands-1', join(out, 'mine.txt'))).rejects.toThrow(WarehouseUnusable);
      expect(readdirSync(out)).toEqual(['mine.txt', 'part-00000.parquet']);
    });

    it('shows spending by day, job and operation, and an answer for several rows or jobs once', async () => {
      const bad = new Service((url) => (url.includes('b.com') ? { request_id: 'request-1' } : {}));
      await runJob(dir, warehouse, await stageText(dir, csv(...letters, 'again,https://a.com/', 'bad,nope')), bad);
      bad.now += 86_400_000;
      await runJob(dir, warehouse, await stageText(dir, csv('z,https://z.com/'), { job: 'other-1' }), bad);
      // The other job also has a row with an answer that the first job bought.
      const both = await stageText(dir, csv('z,https://z.com/', 'c,https://c.com/'), { job: 'other-1' });
      const [bought] = await buySlice(dir, warehouse, both, 0, bad);
      await warehouse.openJob(both.record, both.files);
      bad.now -= 86_400_000;
      writeFileSync(
        bought as string,
        `${JSON.stringify({
          ...JSON.parse(
            readFileSync(bought as string, 'utf8')
              .trim()
              .split('\n')
              .at(-1) as string,
          ),
          fetched_at: new Date(bad.now).toISOString(),
          request_id: 'request-3',
        })}\n`,
      );
      await warehouse.load(batchOf(both, 0, [bought as string]));
      const intendedAt = bad.now;
      const outcome = {
        book: 'b',
        operation: 'contents',
        keys: ['k'],
        intendedAt,
        reason: 'reset',
        estimateMicros: 500,
      };
      await warehouse.recordUnknown('brands-1', [outcome]);
      const spend = await test.values(
        `SELECT CAST(day AS VARCHAR), job, operation, requests, rows, dollars, unknown_outcomes, unknown_dollars FROM spend
         ORDER BY day, job`,
      );
      expect(spend.map((row) => row.map((value) => (typeof value === 'object' ? Number(value) : value)))).toEqual([
        ['2026-11-20', 'brands-1', 'contents', 7, 9, 0.008, 1, 0.0005],
        ['2026-11-20', 'other-1', 'contents', 0, 1, 0, 0, 0],
        ['2026-11-21', 'other-1', 'contents', 1, 1, 0.001, 0, 0],
      ]);
    });
  });
}

/**
 * The tests of the contract of `RowWarehouse` that take seconds: a process that is killed while it loads, and more rows than fit into one
 * sort. `make` returns an empty warehouse for each test.
 */
export function longRowsContract(make: MakeWarehouse<LoadedElsewhere>): void {
  let dir: string;
  let test: InFolder<LoadedElsewhere>;
  let warehouse: RowWarehouse;
  let service: Service;
  beforeEach(async () => {
    test = await makeInFolder(make);
    dir = test.dir;
    warehouse = test.rows;
    service = new Service();
  });
  afterEach(() => test.remove());

  it('survives the kill of a loading process at any moment: a slice is whole or missing', async () => {
    const rows = Array.from({ length: 4000 }, (_, index) => `n${index},https://a.com/${index}`);
    const staged = await stageText(dir, csv(...rows), { rowsPerSlice: 100 });
    const slices = await warehouse.openJob(staged.record, staged.files);
    const batches = [];
    for (const slice of slices)
      batches.push(batchOf(staged, slice, await buySlice(dir, warehouse, staged, slice, service)));
    const batchesFile = join(dir, 'batches.json');
    writeFileSync(batchesFile, JSON.stringify({ batches }));
    for (let turn = 1; turn <= 4; turn++) {
      await test.close();
      await killAfterLoads(test.spawnLoader(batchesFile), turn * 2, turn * 7);
      // The database may still commit statements of the killed process, so the test waits.
      await vi.waitFor(async () => {
        const loaded = (await warehouse.loadedSlices('brands-1', staged.record.generation)) ?? [];
        expect(loaded.length).toBeGreaterThan(0);
        const counts = await test.values(
          'SELECT slice, count(*), count(DISTINCT row_number) FROM enriched_rows GROUP BY slice ORDER BY slice',
        );
        expect(counts).toEqual(loaded.map((slice) => [slice, 100, 100]));
      }, 30_000);
    }
    for (const batch of batches) await warehouse.load(batch);
    expect((await exported(dir, warehouse)).map((row) => row.name)).toEqual(rows.map((_, index) => `n${index}`));
  });

  it('exports more rows than one sort holds, in their order', async () => {
    const rows = Array.from({ length: 60_000 }, (_, index) => `n${index},nope`);
    const staged: StagedTest = await stageText(dir, csv(...rows), { rowsPerSlice: 20_000 });
    await warehouse.openJob(staged.record, staged.files);
    for (const slice of [2, 0, 1]) await warehouse.load(batchOf(staged, slice, []));
    expect((await exported(dir, warehouse)).map((row) => row.name)).toEqual(rows.map((_, index) => `n${index}`));
    const out = join(dir, 'parquet');
    expect(await warehouse.exportParquet('brands-1', out)).toMatchObject({ rows: 60_000, files: 3 });
    expect(readdirSync(out).sort()).toEqual(['part-00000.parquet', 'part-00001.parquet', 'part-00002.parquet']);
    expect((await parquetRows(out)).map((row) => row.name)).toEqual(rows.map((_, index) => `n${index}`));
  });

  it('exports rows with large answers in parts that fit into memory', async () => {
    const text = 'large '.repeat(20_000);
    const large = new Service(() => ({ result: { text } }));
    const rows = Array.from({ length: 300 }, (_, index) => `n${index},https://a.com/${index}`);
    await runJob(dir, warehouse, await stageText(dir, csv(...rows)), large);
    const out = join(dir, 'parquet');
    expect(await warehouse.exportParquet('brands-1', out)).toMatchObject({ rows: 300, files: 5 });
    expect((await parquetRows(out)).map((row) => row.name)).toEqual(rows.map((_, index) => `n${index}`));
    expect((await exported(dir, warehouse)).map((row) => row.text === text && row.name)).toEqual(
      rows.map((_, index) => `n${index}`),
    );
  });
}

/** Waits until the process has printed a line for each of this many loads. Kills it this many milliseconds later, during the next load. */
function killAfterLoads(child: ChildProcess, loads: number, ms: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let seen = 0;
    let said = '';
    child.stderr?.on('data', (data: Buffer) => {
      said += data;
    });
    child.stdout?.on('data', (data: Buffer) => {
      const before = seen;
      seen += data.toString().split('\n').length - 1;
      if (before < loads && seen >= loads) setTimeout(() => child.kill('SIGKILL'), ms);
    });
    child.on('error', reject);
    child.on('exit', (_code, signal) =>
      signal === 'SIGKILL' ? resolve() : reject(new Error(`the loader ended by itself: ${said}`)),
    );
  });
}
