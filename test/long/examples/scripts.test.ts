import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { folderOfTest } from '../../support/files/folders.js';
import { sharedPostgres } from '../../support/postgres.js';
import { examplePath as example, runExample } from '../../support/run-example.js';
import { pgQuery, pgResult } from '../../support/warehouse/pg-query.js';
import { readDuckDb } from '../../support/warehouse/read-duckdb.js';

const sql = (file: string) => readFileSync(example(file), 'utf8');
/** A higher rate than the default. */
const fast = { SEARCHFLOW_QPS: '100' };
const records = (file: string): Record<string, string>[] => parse(readFileSync(file), { columns: true });

describe.skipIf(process.platform === 'win32')('the script of', () => {
  it('examples/company-list enriches by searches and by agents on the sandbox, and its query returns a row for every company', async () => {
    const { cwd, err, code } = await runExample('company-list/run.sh');
    expect([code, err]).toEqual([0, expect.any(String)]);
    const names = records(example('company-list/companies.csv')).map(({ name }) => name);
    const runs = Math.ceil(names.length / 8);
    expect(err).toContain(`sites: ${names.length} rows, ${names.length} searches to buy for about $0.`);
    expect(err).toContain(`leaders: ${names.length} rows, ${names.length} agent runs to buy for about $0.`);
    expect(err).toContain(`leaders-together: ${names.length} rows, ${runs} agent runs to buy for about $0.`);
    for (const file of ['leaders.csv', 'leaders-together.csv']) {
      const rows = records(join(cwd, 'out', file));
      expect(rows.map(({ name }) => name)).toEqual(names);
      for (const row of rows) {
        expect(row).toMatchObject({
          status: 'success',
          ceo: expect.stringMatching(/./),
          employees: expect.stringMatching(/^-?\d+$/),
        });
      }
    }
    const answer = await readDuckDb(join(cwd, 'out', 'companies.duckdb'), sql('company-list/question.sql'));
    expect(answer.map(({ name }) => name).sort()).toEqual([...names].sort());
    expect(answer.every(({ site, sources }) => String(site).startsWith('https://') && Number(sources) > 0)).toBe(true);
  });

  it('examples/chain goes from names to facts, and its second run buys nothing', async () => {
    const folder = folderOfTest();
    const runs = [];
    for (let run = 0; run < 2; run++) runs.push(await runExample('chain/run.sh', {}, folder));
    expect(runs.map(({ code, err }) => [code, err.match(/nothing to buy/g)?.length ?? 0])).toEqual([
      [0, 0],
      [0, 3],
    ]);
    const facts = await readDuckDb(
      join(folder, 'out', 'chain.duckdb'),
      'SELECT name, typeof(founded) AS founded, headquarters IS NOT NULL AS is_filled FROM facts ORDER BY name',
    );
    const names = records(example('chain/names.csv')).map(({ name }) => name);
    expect(facts).toEqual(names.sort().map((name) => ({ name, founded: 'BIGINT', is_filled: true })));
  });

  it('examples/agent-contracts buys ten rows, then the rest, and its query counts every row', async () => {
    const { cwd, err, code } = await runExample('agent-contracts/run.sh');
    expect(code, err).toBe(0);
    const rows = records(example('company-list/companies.csv')).length;
    expect(err).toContain(`${rows} rows, 10 agent runs to buy`);
    const states = await readDuckDb(join(cwd, 'out', 'leaders.duckdb'), sql('agent-contracts/question.sql'));
    expect(states.reduce((sum, state) => sum + Number(state.rows), 0)).toBe(rows);
  });

  it('examples/monitors pauses over the weekend and loads runs into DuckDB on the sandbox, and its query returns rows', async () => {
    const { cwd, out, err, code } = await runExample('monitors/weekend.sh');
    expect([code, err]).toEqual([0, expect.stringContaining('Schedule weekend created')]);
    expect(out).toContain('weekend-end');
    const sites = await readDuckDb(join(cwd, 'out', 'monitors.duckdb'), sql('monitors/question.sql'));
    expect(sites.length).toBeGreaterThan(0);
    expect(sites[0]).toMatchObject({ runs: '1', first_found: expect.any(String) });
  });

  it('examples/postgres-nightly buys only new rows in its second run, and its query returns them and the rows without an answer', async () => {
    const server = sharedPostgres();
    const [source, warehouse] = [await server.database(), await server.database()];
    const inSource = (text: string) => pgQuery(`${source}?schema=public`, text);
    await inSource(sql('postgres-nightly/companies.sql'));
    const folder = folderOfTest();
    const more = { SEARCHFLOW_SOURCE_URL: source, SEARCHFLOW_WAREHOUSE_URL: warehouse };
    const first = await runExample('postgres-nightly/nightly.sh', more, folder);
    expect([first.code, first.err]).toEqual([0, expect.stringContaining('3 rows, 3 URLs to buy')]);

    await inSource("INSERT INTO companies VALUES (4, 'Notion', 'https://www.notion.so')");
    await inSource("INSERT INTO companies VALUES (5, 'Nobody', 'no address')");
    await inSource("UPDATE companies SET name = 'Figma Inc.' WHERE id = 2");
    const second = await runExample('postgres-nightly/nightly.sh', more, folder);
    expect([second.code, second.err]).toEqual([0, expect.stringContaining('5 rows, 1 URL to buy')]);
    expect((await pgQuery(warehouse, sql('postgres-nightly/question.sql'))).map(([what, id]) => [what, id])).toEqual([
      ['new', 4],
      ['missed', 5],
    ]);
  });

  it('examples/events-duckdb syncs to DuckDB on the sandbox, and its three queries return rows', async () => {
    const { cwd, out, err, code } = await runExample('events-duckdb/sync.sh', fast);
    expect([code, err]).toEqual([0, expect.stringContaining('Synced: ')]);
    expect(out).toContain('newest event loaded: ');
    const ask = (question: string) =>
      readDuckDb(join(cwd, 'out', 'events.duckdb'), sql(`events-duckdb/${question}.sql`));
    const growth = await ask('growth');
    expect(growth.length).toBeGreaterThan(3);
    expect(growth.every(({ items, title }) => Number(items) > 0 && title !== null)).toBe(true);
    const weeks = await ask('waiting');
    expect(weeks.length).toBeGreaterThanOrEqual(4);
    expect(weeks.every(({ items, enriched }) => Number(items) >= Number(enriched))).toBe(true);
    expect(weeks.some(({ median_minutes }) => Number(median_minutes) > 0)).toBe(true);
    const searches = await ask('searches');
    expect(searches.map(({ status }) => status)).toEqual(expect.arrayContaining(['completed', 'canceled']));
  });

  it('examples/events-postgres backfills and verifies a range in PostgreSQL on the sandbox, and its query returns rows', async () => {
    const server = sharedPostgres();
    const url = await server.database();
    const { err, code } = await runExample('events-postgres/backfill.sh', { ...fast, SEARCHFLOW_WAREHOUSE_URL: url });
    expect([code, err]).toEqual([0, expect.stringMatching(/Backfilled [\s\S]*Verified [\s\S]*same contents/)]);
    const { names, rows } = await pgResult(url, sql('events-postgres/question.sql'));
    expect(rows.length).toBeGreaterThanOrEqual(4);
    for (const name of ['items', 'websets'])
      expect(rows.every((row) => Number(row[names.indexOf(name)]) > 0)).toBe(true);
  });
});
