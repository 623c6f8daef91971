import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RowWarehouse } from '#searchflow/core/rows/row-warehouse.js';
import { exported, runJob, Service, type StagedTest, stageText } from './row-job.js';
import { type InFolder, type MakeWarehouse, makeInFolder } from './warehouse-under-test.js';

const key = ['id'];
const csv = (...rows: string[]) => `id,name,url\n${rows.map((row) => `${row}\n`).join('')}`;
const url = (name: string) => `https://${name}.com/`;
const abcd = ['a', 'b', 'c', 'd'].map((name, index) => `${index + 1},${name},${url(name)}`);
const [a = '', b = '', c = '', d = ''] = abcd;

/** The contract of `RowWarehouse` for jobs with a key. `make` returns an empty warehouse for each test. */
export function keyContract(make: MakeWarehouse): void {
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
  const stage = (rows: readonly string[], settings: Parameters<typeof stageText>[2] = {}): Promise<StagedTest> =>
    stageText(dir, csv(...rows), { key, urlColumn: 'url', ...settings });
  /** Runs the job; returns the URLs that were bought. */
  const run = async (rows: readonly string[], settings: Parameters<typeof stageText>[2] = {}) => {
    const before = service.asked.length;
    await runJob(dir, warehouse, await stage(rows, settings), service);
    return service.asked.slice(before);
  };
  const visible = () => test.values('SELECT id, name, url, title FROM brands ORDER BY row_number');
  const of = (id: string, name: string, site = name) => [id, name, url(site), `Title of ${url(site)}`];
  const vanished = () => test.values(`SELECT input[1] FROM enriched_rows WHERE vanished_at IS NOT NULL ORDER BY 1`);

  describe('a job with a key', () => {
    it('keeps the answers of moved rows, and of rows whose other columns were edited, with the new cells', async () => {
      await run(abcd);
      expect(await run([d, '1,A,https://a.com/', c, b])).toEqual([]);
      expect(await visible()).toEqual([of('4', 'd'), of('1', 'A', 'a'), of('3', 'c'), of('2', 'b')]);
      expect(await test.values('SELECT count(*) FROM row_store')).toEqual([[4]]);
      expect(await warehouse.summary('brands-1')).toMatchObject({ rows: 4, success: 4, missing: 0, vanished: 0 });
      expect((await exported(dir, warehouse)).map(({ name }) => name).join('')).toBe('dAcb');
    });

    it('buys only the rows whose unit is another one, and counts no row of the input as vanished', async () => {
      await run(abcd);
      expect(await run([a, '2,b,https://new.com/', d, '5,e,https://e.com/'])).toEqual([url('new'), url('e')]);
      expect(await visible()).toEqual([of('1', 'a'), of('2', 'b', 'new'), of('4', 'd'), of('5', 'e')]);
      expect(await vanished()).toEqual([['3']]);
      expect(await warehouse.summary('brands-1')).toMatchObject({ rows: 4, success: 4, missing: 0, vanished: 1 });
    });

    it('takes an answer that another row has for the new unit of an edited row', async () => {
      await run(abcd);
      expect(await run([a, '2,b,https://c.com/', c, d])).toEqual([]);
      expect(await visible()).toEqual([of('1', 'a'), of('2', 'b', 'c'), of('3', 'c'), of('4', 'd')]);
      expect(await warehouse.summary('brands-1')).toMatchObject({ success: 4, vanished: 0 });
      const [[cost] = []] = await test.values('SELECT sum(cost_micros) FROM row_store WHERE outdated_at IS NULL');
      expect(Number(cost)).toBe(3000);
    });

    it('buys nothing for a row that comes back, and for an edit that is undone, also in other columns', async () => {
      await run(abcd);
      expect(await run([a, c])).toEqual([]);
      expect(await vanished()).toEqual([['2'], ['4']]);
      expect(await run([b, a, c, '4,D,https://d.com/'])).toEqual([]);
      expect(await vanished()).toEqual([]);
      expect(await run([a, b, c, '4,D,https://other.com/'])).toEqual([url('other')]);
      expect(await run([a, b, c])).toEqual([]);
      expect(await vanished()).toEqual([['4']]);
      expect(await run([a, b, c, '4,Dd,https://d.com/'])).toEqual([]);
      expect(await visible()).toEqual([of('1', 'a'), of('2', 'b'), of('3', 'c'), of('4', 'Dd', 'd')]);
      expect(await run([a, b, c, '4,Dd,https://other.com/'])).toEqual([]);
      expect(await visible()).toEqual([of('1', 'a'), of('2', 'b'), of('3', 'c'), of('4', 'Dd', 'other')]);
      expect(await warehouse.summary('brands-1')).toMatchObject({ rows: 4, success: 4, missing: 0, vanished: 0 });
    });

    it('replaces a bad row that is mended or still bad, and keeps the answer of a row that turns bad', async () => {
      await run([a, '2,b,nope', '3,c,']);
      expect(await warehouse.summary('brands-1')).toMatchObject({ success: 1, invalid: 2 });
      expect(await run(['1,a,nope', '2,b,neither', c])).toEqual([url('c')]);
      const bad = (await exported(dir, warehouse)).map((row) => [row.status, row.url, row.error_message]);
      expect(bad).toEqual([
        ['invalid', 'nope', expect.stringContaining('line 2')],
        ['invalid', 'neither', expect.stringContaining('"neither"')],
        ['success', url('c'), ''],
      ]);
      expect(await run([a, '2,b,neither', c])).toEqual([]);
      expect(await warehouse.summary('brands-1')).toMatchObject({ success: 2, invalid: 1, missing: 0, vanished: 0 });
      expect(await test.values('SELECT count(*) FROM row_store')).toEqual([[3]]);
    });

    it('loads a row without a key as a bad row', async () => {
      expect(await run([a, ',x,https://x.com/', ' ,x,https://x.com/', b])).toEqual([url('a'), url('b')]);
      expect(await warehouse.summary('brands-1')).toMatchObject({
        success: 2,
        invalid: 2,
        tags: { MISSING_KEY: 2 },
      });
      expect(await run([b, ',x,https://x.com/', a])).toEqual([]);
      expect(await warehouse.summary('brands-1')).toMatchObject({ success: 2, invalid: 1, missing: 0 });
    });

    it('keeps every answer when the key is new, is another one, or is removed', async () => {
      await run(abcd, { key: undefined });
      expect(await run([b, a, c, d])).toEqual([]);
      expect(await run([b, a, '3,C,https://c.com/', d])).toEqual([]);
      expect(await test.values('SELECT count(*) FROM row_store')).toEqual([[4]]);
      expect(await run([a, b, '3,C,https://c.com/'], { key: ['name'] })).toEqual([]);
      expect(await run([a, '7,b,https://b.com/', '3,C,https://c.com/', d], { key: ['name'] })).toEqual([]);
      expect(await warehouse.summary('brands-1')).toMatchObject({ success: 4, vanished: 0 });
      expect(await run([d, a, '7,b,https://b.com/', '3,C,https://c.com/'], { key: undefined })).toEqual([]);
      expect(await visible()).toEqual([of('4', 'd'), of('1', 'a'), of('7', 'b'), of('3', 'C', 'c')]);
      expect(await warehouse.summary('brands-1')).toMatchObject({ success: 4, missing: 0, vanished: 0 });
    });

    it('continues an edited input that was half loaded, after further edits', async () => {
      await run(abcd);
      const edited = await stage([a, '2,b,https://b2.com/', '3,c,https://c2.com/', d], { rowsPerSlice: 1 });
      expect(await warehouse.openJob(edited.record, edited.files)).toEqual([1, 2]);
      expect(await warehouse.summary('brands-1')).toMatchObject({ success: 2, missing: 2, vanished: 0 });
      expect(await run([d, '2,B,https://b2.com/', c])).toEqual([url('b2')]);
      expect(await visible()).toEqual([of('4', 'd'), of('2', 'B', 'b2'), of('3', 'c')]);
      expect(await vanished()).toEqual([['1']]);
    });

    it('buys all rows again for other options, and again only what is too old', async () => {
      await run(abcd);
      expect(await run([d, c, b, a], { options: { text: false } })).toHaveLength(4);
      service.now += 60_000;
      expect(await run([a, '2,B,https://b.com/', c, d], { options: { text: false } })).toEqual([]);
      const stale = await stage([a, '2,BB,https://b.com/', c, d], { options: { text: false } });
      const asked = service.asked.length;
      await runJob(dir, warehouse, stale, service, { freshAfter: service.now });
      expect(service.asked.slice(asked).sort()).toEqual(['a', 'b', 'c', 'd'].map(url));
      expect((await visible())[1]).toEqual(of('2', 'BB', 'b'));
      expect(await test.values('SELECT count(*) FROM row_store')).toEqual([[4]]);
    });

    it('gives rows that share a run their parts of the output', async () => {
      const units = { kind: 'rows', row: { site: '{{url}}' }, rowsPerRun: 2 } as const;
      const items = { type: 'object', properties: { row_id: { type: 'string' }, ceo: { type: 'string' } } };
      const schema = { type: 'object', properties: { rows: { type: 'array', items } } };
      service = new Service((unit) => {
        const { data } = (JSON.parse(unit) as { input: { data: { row_id: string; site: string }[] } }).input;
        const rows = data.map(({ row_id, site }) => ({ row_id, ceo: `Boss of ${site}` }));
        return { result: { id: 'run-1', output: { structured: { rows } } } };
      });
      const shared = {
        ...{ operation: 'agent', options: { query: 'Find each CEO', outputSchema: schema }, units },
        rowsPerSlice: 4,
        request: { template: { site: '{{url}}' }, rowsPerRun: 2 },
      };
      expect(await run(abcd, shared)).toHaveLength(2);
      const bosses = () => test.values('SELECT name, ceo FROM brands ORDER BY row_number');
      expect(await bosses()).toEqual(['a', 'b', 'c', 'd'].map((name) => [name, `Boss of ${url(name)}`]));
      // The column is not part of the request, so the runs are the same.
      expect(await run([a, '2,B,https://b.com/', c, d], shared)).toEqual([]);
      expect((await bosses())[1]).toEqual(['B', `Boss of ${url('b')}`]);
    });
  });
}
