import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RowWarehouse } from '#searchflow/core/rows/row-warehouse.js';
import { readSlice } from '#searchflow/rows/index.js';
import { batchOf, buySlice, runJob, Service, type StagedTest, stageText } from './row-job.js';
import { type InFolder, type MakeWarehouse, makeInFolder } from './warehouse-under-test.js';

const csv = (...rows: string[]) => `name,url\n${rows.map((row) => `${row}\n`).join('')}`;
const url = (name: string) => `https://${name}.com/`;
const letters = ['a', 'b', 'c', 'd', 'e'].map((name) => `${name},${url(name)}`);
const [a = '', b = '', c = '', d = '', e = ''] = letters;

/** The contract of `RowReads`: single rows of a job and their failures. `make` returns an empty warehouse for each test. */
export function placeContract(make: MakeWarehouse): void {
  let test: InFolder;
  let warehouse: RowWarehouse;
  let service: Service;
  beforeEach(async () => {
    test = await makeInFolder(make);
    warehouse = test.rows;
    service = new Service((asked) =>
      asked.includes('b.') || asked.includes('d.')
        ? {
            status: 'error',
            error_tag: 'CRAWL_TIMEOUT',
            http_status: 504,
            cost_micros: 0,
            result: { error: 'too slow' },
          }
        : {},
    );
  });
  afterEach(() => test.remove());
  const run = async (...rows: string[]): Promise<StagedTest> => {
    const staged = await stageText(test.dir, csv(...rows));
    await runJob(test.dir, warehouse, staged, service);
    return staged;
  };
  const hashOf = async ({ files }: StagedTest, row: number) =>
    (await Promise.all(files.map((file) => readSlice(file)))).flat().find(({ n }) => n === row)?.h as string;
  const nothing = { tags: [], limit: 10 };

  describe('the failed rows of a job', () => {
    it('are grouped by tag, and listed in the order of the input with their cells and reasons', async () => {
      await run(a, b, 'B,https://b.com/', 'bad,nope', c, d);
      const { groups, rows } = await warehouse.failedRows('brands-1', { tags: [], limit: 2 });
      expect(groups).toEqual([
        { status: 'error', tag: 'CRAWL_TIMEOUT', rows: 3, units: 2, costMicros: 0 },
        { status: 'invalid', tag: 'INVALID_URL', rows: 1, units: 0, costMicros: 0 },
      ]);
      expect(rows).toMatchObject([
        { row: 2, status: 'error', tag: 'CRAWL_TIMEOUT', message: 'too slow', httpStatus: 504, unit: url('b') },
        { row: 3, input: ['B', 'https://b.com/'], key: rows[0]?.key, costMicros: 0, fetchedAt: service.now, slice: 0 },
      ]);
      const bad = await warehouse.failedRows('brands-1', { tags: ['INVALID_URL'], limit: 10 });
      expect(bad.groups).toHaveLength(1);
      expect(bad.rows).toMatchObject([{ row: 4, key: null, unit: 'nope', message: expect.stringContaining('line 5') }]);
      expect(await warehouse.failedRows('brands-1', { tags: ['NONE'], limit: 10 })).toEqual({ groups: [], rows: [] });
    });

    it('are those of the current input only', async () => {
      await run(a, b, d);
      await run(a, d);
      const { groups, rows } = await warehouse.failedRows('brands-1', nothing);
      expect(groups).toMatchObject([{ rows: 1 }]);
      expect(rows.map(({ row }) => row)).toEqual([2]);
    });

    it('are none before the job is loaded', async () => {
      expect(await warehouse.failedRows('brands-1', nothing)).toEqual({ groups: [], rows: [] });
      expect(await warehouse.placeOf('brands-1', { row: 1 })).toBeNull();
    });
  });

  describe('the place of a row', () => {
    it('has its answer, the time of its load, and the other rows with its unit', async () => {
      await run(a, b, 'A,https://a.com/', c, 'AA,https://a.com/');
      const place = await warehouse.placeOf('brands-1', { row: 3 });
      expect(place).toMatchObject({
        loaded: { row: 3, status: 'success', input: ['A', url('a')], unit: url('a'), requestId: 'request-1', slice: 0 },
        sharing: { rows: 2, first: [1, 5] },
        misfits: [],
        published: null,
      });
      expect(place?.ledgerAt).toBeGreaterThan(service.now);
      expect(place?.loaded.at).toBeGreaterThan(service.now);
      expect(await warehouse.placeOf('brands-1', { row: 6 })).toBeNull();
    });

    it('is found by its URL or its cell, a present row rather than a vanished one', async () => {
      await run(a, b, 'bad, nope ');
      const of = (...unit: string[]) => warehouse.placeOf('brands-1', { unit, cell: 2, key: null });
      expect((await of(url('b')))?.loaded.row).toBe(2);
      expect((await of('nope'))?.loaded).toMatchObject({ row: 3, status: 'invalid' });
      expect(await of(url('c'))).toBeNull();
      const key = (await of(url('b')))?.loaded.key ?? null;
      const spelled = { unit: ['HTTPS://B.com'], cell: 2, key };
      expect((await warehouse.placeOf('brands-1', spelled))?.loaded.row).toBe(2);
      await run(a, c);
      expect((await of(url('b')))?.loaded).toMatchObject({ row: null, vanishedAt: expect.any(Number), unit: url('b') });
      await run('B,https://b.com/', a);
      expect((await of(url('b')))?.loaded).toMatchObject({ row: 1, vanishedAt: null, input: ['B', url('b')] });
    });

    it('is found by its content where the warehouse numbers the rows of an earlier input', async () => {
      await run(a, b, c);
      const later = await stageText(test.dir, csv(e, a, b));
      const placed = async (row: number) =>
        (await warehouse.placeOf('brands-1', { row, hash: await hashOf(later, row) }))?.loaded.unit ?? null;
      expect([await placed(1), await placed(2), await placed(3)]).toEqual([null, url('a'), url('b')]);
    });

    it('has no ledger line while its slice is loaded only in part', async () => {
      const staged = await stageText(test.dir, csv(a, b));
      await warehouse.openJob(staged.record, staged.files);
      const unitFiles = await buySlice(test.dir, warehouse, staged, 0, service);
      await warehouse.load({ ...batchOf(staged, 0, unitFiles), partial: true });
      expect(await warehouse.placeOf('brands-1', { row: 1 })).toMatchObject({ ledgerAt: null, loaded: { row: 1 } });
    });

    it('has the publish of the latest run', async () => {
      const { record } = await run(a);
      const counts = { rows: 1, success: 1, error: 0, invalid: 0, missing: 0, vanished: 0 };
      const facts = { scheduled: false, phase: 'done', reason: null, message: null, requests: 1, costMicros: 1 };
      const times = { startedAt: service.now, endedAt: service.now + 1000 };
      const ended = { job: 'brands-1', run: 'r', generation: record.generation };
      await warehouse.recordRun({ ...ended, ...counts, ...facts, ...times } as never);
      const outcome = { to: 'out/lake', error: null, publish: 'p', rows: 1, changed: true };
      await warehouse.recordPublish('brands-1', 'r', outcome);
      const place = await warehouse.placeOf('brands-1', { row: 1 });
      expect(place?.published).toEqual({ ...outcome, at: service.now + 1000 });
    });
  });
}
