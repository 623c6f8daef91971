import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { expect, it } from 'vitest';
import { folderOfTest } from '../../support/files/folders.js';
import { examplePath, runExample } from '../../support/run-example.js';
import { readDuckDb } from '../../support/warehouse/read-duckdb.js';

const example = (file: string) => examplePath(`company-list/${file}`);
const records = (file: string): Record<string, string>[] => parse(readFileSync(file), { columns: true });

it.runIf(process.platform !== 'win32')(
  'examples/company-list enriches by searches and by agents on the sandbox, and its query returns a row for every company',
  async () => {
    const { cwd, err, code } = await runExample('company-list/run.sh');
    expect([code, err]).toEqual([0, expect.any(String)]);
    const names = records(example('companies.csv')).map(({ name }) => name);
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
    const answer = await readDuckDb(
      join(cwd, 'out', 'companies.duckdb'),
      readFileSync(example('question.sql'), 'utf8'),
    );
    expect(answer.map(({ name }) => name).sort()).toEqual([...names].sort());
    expect(answer.every(({ site, sources }) => String(site).startsWith('https://') && Number(sources) > 0)).toBe(true);
  },
  180_000,
);

it.runIf(process.platform !== 'win32')(
  'examples/chain goes from names to facts, and its second run buys nothing',
  async () => {
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
    const names = records(examplePath('chain/names.csv')).map(({ name }) => name);
    expect(facts).toEqual(names.sort().map((name) => ({ name, founded: 'BIGINT', is_filled: true })));
  },
  180_000,
);
