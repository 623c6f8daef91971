import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { failureTags } from '#searchflow/core/purchase/failure-tags.js';
import type { Json } from '#searchflow/core/text/json.js';
import { exported, parquetRows, runJob, Service, stageText } from './row-job.js';
import { type InFolder, type MakeWarehouse, makeInFolder } from './warehouse-under-test.js';

const csv = 'name,city\nAcme,Rome\nBolt,\nCog,Oslo\n';
const query = (unit: string) => (JSON.parse(unit) as { query: string }).query;
/** Rows with plain values, because one database returns JSON as text and another one as values. */
const plain = (rows: unknown[][]) =>
  rows.map((row) => row.map((value) => (typeof value === 'string' && /^[[{]/.test(value) ? JSON.parse(value) : value)));

/**
 * The contract of the views of results: typed columns for each operation and for the properties of a schema. `make` returns an empty warehouse
 * for each test.
 */
export function resultContract(make: MakeWarehouse): void {
  let dir: string;
  let test: InFolder;
  beforeEach(async () => {
    test = await makeInFolder(make);
    dir = test.dir;
  });
  afterEach(() => test.remove());

  const plainTemplate = { query: '{{name}} official site' };
  const run = async (
    operation: string,
    answer: (unit: string) => Json,
    options: Json = {},
    text = csv,
    more: { template?: { [name: string]: Json } } = {},
  ) => {
    const { template = plainTemplate, ...settings } = more;
    const service = new Service((unit) => ({ result: answer(unit), http_status: null, source: null }));
    const staged = await stageText(dir, text, {
      ...{ operation, options, units: { kind: 'template', template } },
      request: { template, rowsPerRun: 1 },
      ...settings,
    });
    await runJob(dir, test.rows, staged, service);
    return service;
  };

  describe('searches', () => {
    const page = (name: string, n: number) => ({
      id: `id-${n}`,
      url: `https://${name}.com/${n}`,
      title: `=${name} ${n}`,
      publishedDate: '2026-01-02',
      author: n === 1 ? null : 'Ann',
      score: n / 4,
      highlights: ['h'],
      summary: `about ${name}`,
      extras: { links: [1] },
      more: true,
    });
    const found = (unit: string): Json => {
      const name = query(unit).split(' ')[0] as string;
      return {
        requestId: 'r',
        results: name === 'Bolt' ? [] : [page(name, 1), page(name, 2)],
        costDollars: { total: 1 },
      };
    };

    it('have a line for each result, in order, and the first of them in the row', async () => {
      await run('search', found);
      expect(
        plain(
          await test.values(
            `SELECT row_number, rank, url, title, published_date, author, score, highlights, id, extras
             FROM search_results WHERE job = 'brands-1' ORDER BY row_number, rank`,
          ),
        ),
      ).toEqual([
        [1, 1, 'https://Acme.com/1', '=Acme 1', '2026-01-02', null, 0.25, ['h'], 'id-1', { links: [1] }],
        [1, 2, 'https://Acme.com/2', '=Acme 2', '2026-01-02', 'Ann', 0.5, ['h'], 'id-2', { links: [1] }],
        [3, 1, 'https://Cog.com/1', '=Cog 1', '2026-01-02', null, 0.25, ['h'], 'id-1', { links: [1] }],
        [3, 2, 'https://Cog.com/2', '=Cog 2', '2026-01-02', 'Ann', 0.5, ['h'], 'id-2', { links: [1] }],
      ]);
      expect(plain(await test.values('SELECT result FROM search_results WHERE row_number = 1 AND rank = 2'))).toEqual([
        [page('Acme', 2)],
      ]);
      expect(
        await test.values('SELECT name, city, status, results, url, title FROM brands ORDER BY row_number'),
      ).toEqual([
        ['Acme', 'Rome', 'success', 2, 'https://Acme.com/1', '=Acme 1'],
        ['Bolt', '', 'success', 0, null, null],
        ['Cog', 'Oslo', 'success', 2, 'https://Cog.com/1', '=Cog 1'],
      ]);
    });

    it('are written to a CSV without their formulas, and otherwise unchanged', async () => {
      await run('search', found, {}, 'name,=url,title\n=Acme,=1+1,T\n');
      const [row] = await exported(dir, test.rows);
      expect(row).toEqual({
        ...{ name: '=Acme', '=url': '=1+1', title: 'T' },
        ...{ status: 'success', error_tag: '', error_message: '', results: '2' },
        ...{ url: 'https://=Acme.com/1', result_title: "'==Acme 1", published_date: '2026-01-02' },
        ...{ request_id: 'request-1', cost_dollars: '0.001', fetched_at: '2026-11-20T10:00:00.000000Z' },
      });
    });

    it.each(['options', 'template'])(
      'have highlights and summary of the first result in the row and the CSV, if the %s request them',
      async (where) => {
        const contents = { highlights: true, summary: { query: 'of {{city}}' } };
        if (where === 'options') await run('search', found, { contents });
        else await run('search', found, {}, csv, { template: { ...plainTemplate, contents } });
        const rows = plain(await test.values('SELECT name, highlights, summary FROM brands ORDER BY row_number'));
        expect(rows).toEqual([
          ['Acme', ['h'], 'about Acme'],
          ['Bolt', null, null],
          ['Cog', ['h'], 'about Cog'],
        ]);
        const [first, second] = await exported(dir, test.rows);
        expect(first).toMatchObject({ highlights: '["h"]', summary: 'about Acme' });
        expect(second).toMatchObject({ highlights: '', summary: '' });
      },
    );

    it('disappear or move with their row', async () => {
      await run('search', found);
      await run('search', found, {}, 'name,city\nCog,Oslo\nNew,\n');
      expect(await test.values('SELECT row_number, rank, url FROM search_results ORDER BY 1, 2')).toEqual([
        [1, 1, 'https://Cog.com/1'],
        [1, 2, 'https://Cog.com/2'],
        [2, 1, 'https://New.com/1'],
        [2, 2, 'https://New.com/2'],
      ]);
    });
  });

  it('of failed rows have a reason, whatever their tag and result are', async () => {
    const tags = [...Object.keys(failureTags), 'CRAWL_HTTP_404', 'x', null];
    const results: Json[] = [
      null,
      {},
      'x',
      [],
      { error: '' },
      { error: ' \n' },
      { error: null },
      { error: { message: ' ' } },
    ];
    const failures = tags.flatMap((tag) => results.map((result) => [tag, result] as const));
    const service = new Service((unit) => {
      const [error_tag, result] = failures[Number(query(unit).slice(1))] as (typeof failures)[number];
      return { status: 'error', error_tag, result, http_status: null, source: null };
    });
    const template = { query: '{{name}}' };
    const text = `name\n${failures.map((_, nth) => `n${nth}\n`).join('')}`;
    const units = { kind: 'template', template } as const;
    await runJob(
      dir,
      test.rows,
      await stageText(dir, text, { operation: 'search', units, request: { template, rowsPerRun: 1 } }),
      service,
    );
    const rows = await test.values('SELECT status, error_tag, error_message FROM enriched_rows');
    expect(rows).toHaveLength(failures.length);
    expect(rows.filter(([status, , message]) => status !== 'error' || !/\S/.test(String(message ?? '')))).toEqual([]);
  });

  describe('answers', () => {
    it('are numbers and booleans, too; sources that are no list have no number', async () => {
      const none = (unit: string) =>
        query(unit).startsWith('Bolt') ? { answer: false, citations: {} } : { answer: 42, citations: [] };
      await run('answer', none);
      const rows = await test.values(
        'SELECT row_number, coalesce(answer, CAST(structured AS text)) FROM answers ORDER BY 1',
      );
      expect(rows.map(([row, value]) => `${row} ${value}`)).toEqual(['1 42', '2 false', '3 42']);
      expect((await exported(dir, test.rows)).map(({ citations }) => citations)).toEqual(['0', '', '0']);
    });

    it('are a text with its sources, or the output of a schema', async () => {
      await run('answer', (unit) => ({
        answer: query(unit).startsWith('Bolt') ? { ceo: 'Bo' } : `yes, ${query(unit)}`,
        citations: [
          { id: 'c1', url: 'https://a.com/', title: '+1', author: null, extra: 1 },
          { url: 'https://b.com/' },
        ] as Json[],
      }));
      expect(
        plain(await test.values('SELECT row_number, answer, structured, citations FROM answers ORDER BY 1')),
      ).toEqual([
        [1, 'yes, Acme official site', null, 2],
        [2, null, { ceo: 'Bo' }, 2],
        [3, 'yes, Cog official site', null, 2],
      ]);
      expect(
        plain(
          await test.values(
            'SELECT rank, url, title, id, citation FROM answer_citations WHERE row_number = 1 ORDER BY 1',
          ),
        ),
      ).toEqual([
        [1, 'https://a.com/', '+1', 'c1', { id: 'c1', url: 'https://a.com/', title: '+1', author: null, extra: 1 }],
        [2, 'https://b.com/', null, null, { url: 'https://b.com/' }],
      ]);
      const rows = await exported(dir, test.rows);
      expect(
        rows.map(({ answer, citations, citation_url: url, citation_title: title }) => [answer, citations, url, title]),
      ).toEqual([
        ['yes, Acme official site', '2', 'https://a.com/', "'+1"],
        ['{"ceo":"Bo"}', '2', 'https://a.com/', "'+1"],
        ['yes, Cog official site', '2', 'https://a.com/', "'+1"],
      ]);
    });
  });

  describe('agent runs', () => {
    const outputSchema = {
      type: 'object',
      properties: {
        ceo: { type: 'string' },
        employees: { type: 'integer' },
        revenue: { type: ['number', 'null'] },
        listed: { type: 'boolean' },
        founded: { type: 'string', format: 'date' },
        seen: { type: 'string', format: 'date-time' },
        office: { type: 'object', properties: { city: { type: 'string' }, 'p/o "box"': { type: 'number' } } },
        products: { type: 'array', items: { type: 'string' } },
        any: {},
        status: { type: 'string' },
        Name: { type: 'string' },
      },
    };
    const structured = {
      ceo: '-Ann',
      employees: 12,
      revenue: -1.5,
      listed: true,
      founded: '1999-12-31',
      seen: '2026-01-02T03:04:05.123456789+01:00',
      office: { city: 'Rome', 'p/o "box"': 7 },
      products: ['a', 'b'],
      any: { x: [null] },
      status: 'fine',
      Name: 'ACME',
    };
    const odd = {
      ceo: null,
      employees: 3.7,
      revenue: 'much',
      listed: 'true-ish',
      founded: 'today',
      seen: 'infinity',
      office: 'none',
      products: 'one',
    };
    const recordOf = (structured: Json, more: object = {}): Json => ({
      id: 'agent_run_1',
      status: 'completed',
      stopReason: 'done',
      output: {
        text: 'In short',
        structured,
        grounding: [
          {
            field: 'structured.ceo',
            citations: [{ url: 'https://a.com/', title: 'A' }, { url: 'https://b.com/' }],
            confidence: 'high',
          },
          { field: 'structured.revenue', citations: [], confidence: 'low' },
        ],
      },
      usage: { agentComputeUnits: 0.5, searches: 3, emails: 0, phoneNumbers: 0 },
      costDollars: { total: 0.12 },
      ...more,
    });
    const columns =
      'ceo, employees, revenue, listed, CAST(founded AS VARCHAR), office_city, "office_p/o ""box""", products, "any"';

    it('have typed columns from the schema; a value that does not fit is NULL there and kept in the answer', async () => {
      await run('agent', (unit) => recordOf(query(unit).startsWith('Bolt') ? odd : structured), { outputSchema });
      const rows = plain(
        await test.values(
          `SELECT name, status, ${columns}, result_status, "result_Name" FROM brands ORDER BY row_number`,
        ),
      );
      expect(rows.slice(0, 2)).toEqual([
        ['Acme', 'success', '-Ann', 12, -1.5, true, '1999-12-31', 'Rome', 7, ['a', 'b'], { x: [null] }, 'fine', 'ACME'],
        ['Bolt', 'success', null, null, null, null, null, null, null, null, null, null, null],
      ]);
      expect(plain(await test.values('SELECT structured FROM agent_outputs ORDER BY row_number'))).toEqual([
        [structured],
        [odd],
        [structured],
      ]);
      const [first, second] = await exported(dir, test.rows);
      expect(first).toMatchObject({
        ceo: "'-Ann",
        employees: '12',
        revenue: '-1.5',
        listed: 'true',
        founded: '1999-12-31',
        office_city: 'Rome',
        ...{ seen: '2026-01-02T02:04:05.123456Z', products: '["a","b"]', any: '{"x":[null]}', result_status: 'fine' },
        ...{ text: 'In short', stop_reason: 'done', run_id: 'agent_run_1', result_Name: 'ACME' },
      });
      expect(second).toMatchObject({
        ceo: '',
        employees: '',
        revenue: '',
        listed: '',
        founded: '',
        seen: '',
        products: '',
      });
      const out = join(dir, 'parquet');
      await test.rows.exportParquet('brands-1', out);
      expect((await parquetRows(out))[0]).toMatchObject({
        ...{ ceo: '-Ann', employees: '12', revenue: -1.5, listed: true, founded: '1999-12-31' },
        ...{ products: '["a","b"]', office_city: 'Rome', 'office_p/o "box"': 7 },
      });
    });

    it('have their grounding in a table of its own, with their usage and cost', async () => {
      await run('agent', (unit) =>
        query(unit).startsWith('Bolt')
          ? { ...(recordOf(null, { status: 'failed', error: { code: 'X' } }) as object), output: null }
          : recordOf('just words'),
      );
      expect(
        await test.values(
          'SELECT row_number, field_rank, rank, field, url, title, confidence FROM agent_grounding WHERE row_number < 3 ORDER BY 1, 2, 3',
        ),
      ).toEqual([
        [1, 1, 1, 'structured.ceo', 'https://a.com/', 'A', 'high'],
        [1, 1, 2, 'structured.ceo', 'https://b.com/', null, 'high'],
        [1, 2, null, 'structured.revenue', null, null, 'low'],
      ]);
      expect(
        plain(
          await test.values(
            `SELECT row_number, run_id, status, stop_reason, text, structured, agent_compute_units, searches, run_cost_dollars, error
             FROM agent_outputs WHERE row_number < 3 ORDER BY 1`,
          ),
        ),
      ).toEqual([
        [1, 'agent_run_1', 'completed', 'done', 'In short', null, 0.5, 3, 0.12, null],
        [2, 'agent_run_1', 'failed', 'done', null, null, 0.5, 3, 0.12, { code: 'X' }],
      ]);
    });

    it('that failed show the reason if the service gave one', async () => {
      const said: Readonly<Record<string, Json>> = {
        Acme: recordOf(null, { status: 'failed', error: { code: 'X', message: 'it failed' } }),
        Bolt: { error: 'the service tells nothing more of the run' },
        Cog: recordOf(null, { status: 'failed', error: { code: 'X' } }),
      };
      const service = new Service((unit) => {
        const result = said[query(unit).split(' ')[0] as string] ?? null;
        return { status: 'error', error_tag: 'RUN_FAILED', result };
      });
      const staged = await stageText(dir, csv, {
        ...{ operation: 'agent', options: {}, units: { kind: 'template', template: plainTemplate } },
        request: { template: plainTemplate, rowsPerRun: 1 },
      });
      await runJob(dir, test.rows, staged, service);
      expect(await test.values('SELECT name, error_message FROM brands ORDER BY row_number')).toEqual([
        ['Acme', 'it failed'],
        ['Bolt', 'the service tells nothing more of the run'],
        ['Cog', 'the service reported RUN_FAILED (HTTP 200)'],
      ]);
    });

    it('for several rows give each row its part of the output', async () => {
      const rows = { kind: 'rows', row: null, rowsPerRun: 2 } as const;
      const whole = {
        type: 'object',
        properties: {
          rows: {
            type: 'array',
            items: { type: 'object', properties: { row_id: { type: 'string' }, ceo: { type: 'string' } } },
          },
        },
      };
      const service = new Service((unit) => {
        const { data } = (JSON.parse(unit) as { input: { data: { row_id: string; name: string }[] } }).input;
        // The parts of the output are in another order than the rows. One part is for an unknown row, and none is for Cog.
        const parts = data
          .filter(({ name }) => name !== 'Cog')
          .map(({ row_id, name }) => ({ row_id, ceo: `Boss of ${name}` }));
        return { result: recordOf({ rows: [{ row_id: 'nobody', ceo: 'Nemo' }, 'odd', ...parts.toReversed()] }) };
      });
      const staged = await stageText(dir, csv, {
        ...{ operation: 'agent', options: { query: 'Find each CEO', outputSchema: whole }, units: rows },
        request: { template: null, rowsPerRun: 2 },
      });
      await runJob(dir, test.rows, staged, service);
      expect(service.asked).toHaveLength(2);
      expect(await test.values('SELECT name, ceo FROM brands ORDER BY row_number')).toEqual([
        ['Acme', 'Boss of Acme'],
        ['Bolt', 'Boss of Bolt'],
        ['Cog', null],
      ]);
      // The run succeeded, but its output has no part for the row Cog.
      expect(
        await test.values('SELECT name, status, error_tag, error_message FROM brands ORDER BY row_number'),
      ).toEqual([
        ['Acme', 'success', null, null],
        ['Bolt', 'success', null, null],
        ['Cog', 'error', 'MISSING_FROM_RESPONSE', expect.stringContaining('row_id')],
      ]);
      expect(await test.values('SELECT row_number FROM misfits')).toEqual([]);
      expect((await exported(dir, test.rows)).map(({ ceo, cost_dollars: cost }) => [ceo, cost])).toEqual([
        ['Boss of Acme', '0.001'],
        ['Boss of Bolt', '0.0'],
        ['', '0.001'],
      ]);
    });

    it('list each value that does not fit its column, and count them by column', async () => {
      const answer = (unit: string) => recordOf(query(unit).startsWith('Bolt') ? odd : structured);
      await run('agent', answer, { outputSchema });
      const misfits = () =>
        test.values('SELECT row_number, column_name, value, expected FROM misfits ORDER BY row_number, column_name');
      const expected = [
        ['employees', '3.7', 'integer'],
        ['founded', 'today', 'date'],
        ['listed', 'true-ish', 'boolean'],
        ['office', 'none', 'object'],
        ['products', 'one', 'array'],
        ['revenue', 'much', 'number'],
        ['seen', 'infinity', 'time'],
      ];
      expect(plain(await misfits())).toEqual(expected.map((one) => [2, ...one]));
      const counts = { employees: 1, founded: 1, listed: 1, office: 1, products: 1, revenue: 1, seen: 1 };
      expect(await test.rows.summary('brands-1')).toMatchObject({ success: 3, misfits: counts });
      // A row keeps its misfits when it moves.
      await run('agent', answer, { outputSchema }, 'name,city\nBolt,\nAcme,Rome\nCog,Oslo\n');
      expect(plain(await misfits())).toEqual(expected.map((one) => [1, ...one]));
      // Another schema has other columns. Answers to the former schema do not count until they are replaced.
      const size = (type: string) => ({ outputSchema: { properties: { size: { type }, Name: { type: 'boolean' } } } });
      await run('agent', () => recordOf({ size: 'x'.repeat(500), Name: 1 }), size('integer'));
      expect(plain(await misfits())).toEqual(
        [1, 2, 3].flatMap((row) => [
          [row, 'result_Name', '1', 'boolean'],
          [row, 'size', 'x'.repeat(200), 'integer'],
        ]),
      );
      await run('agent', () => recordOf({ size: 'x', Name: true }), size('string'));
      expect(await misfits()).toEqual([]);
      expect((await test.rows.summary('brands-1')).misfits).toBeUndefined();
    });

    it('list a value of another kind for a list or an object, also for an object whose properties are columns', async () => {
      const properties = {
        ...{ tags: { type: 'array' }, open: { type: 'object' } },
        site: { type: 'object', properties: { at: { type: 'object', properties: { city: { type: 'string' } } } } },
      };
      const wrong = { tags: '["a"]', open: [1], site: { at: 'Rome' } };
      const right = { tags: [1, { b: [] }], open: { c: 1 }, site: { at: { city: 'Rome' } } };
      const answer = (unit: string) => recordOf(query(unit).startsWith('Bolt') ? wrong : right);
      await run('agent', answer, { outputSchema: { properties } });
      const columns = 'tags, open, site_at_city';
      expect(await test.values(`SELECT ${columns} FROM brands ORDER BY row_number`)).toEqual(
        [right, null, right].map((one) => [one?.tags ?? null, one?.open ?? null, one?.site.at.city ?? null]),
      );
      expect(
        await test.values('SELECT row_number, column_name, value, expected FROM misfits ORDER BY column_name'),
      ).toEqual([
        [2, 'open', '[1]', 'object'],
        [2, 'site_at', 'Rome', 'object'],
        [2, 'tags', '["a"]', 'array'],
      ]);
      expect((await exported(dir, test.rows)).map(({ tags, open }) => [tags, open])).toEqual([
        ['[1,{"b":[]}]', '{"c":1}'],
        ['', ''],
        ['[1,{"b":[]}]', '{"c":1}'],
      ]);
    });

    it('change their columns with the schema, even if the names stay', async () => {
      const schema = (type: string) => ({ outputSchema: { properties: { size: { type } } } });
      await run('agent', () => recordOf({ size: 5 }), schema('string'));
      expect(await test.values(`SELECT max(size) || '!' FROM brands`)).toEqual([['5!']]);
      await run('agent', () => recordOf({ size: 5 }), schema('integer'));
      expect((await test.values('SELECT max(size) + 1 FROM brands')).flat().map(Number)).toEqual([6]);
      await run('agent', () => recordOf({ size: 5 }), schema('string'));
      expect(await test.values(`SELECT max(size) || '!' FROM brands`)).toEqual([['5!']]);
    });
  });
}
