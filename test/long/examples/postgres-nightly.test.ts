import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { folderOfTest } from '../../support/files/folders.js';
import { sharedPostgres } from '../../support/postgres.js';
import { examplePath, runExample } from '../../support/run-example.js';
import { pgQuery } from '../../support/warehouse/pg-query.js';

const sql = (name: string) => readFileSync(examplePath(`postgres-nightly/${name}.sql`), 'utf8');

it.runIf(process.platform !== 'win32')(
  'examples/postgres-nightly buys only new rows in its second run, and its query returns them and the rows without an answer',
  async () => {
    const server = sharedPostgres();
    const [source, warehouse] = [await server.database(), await server.database()];
    const inSource = (text: string) => pgQuery(`${source}?schema=public`, text);
    await inSource(sql('companies'));
    const folder = folderOfTest();
    const more = { SEARCHFLOW_SOURCE_URL: source, SEARCHFLOW_WAREHOUSE_URL: warehouse };
    const first = await runExample('postgres-nightly/nightly.sh', more, folder);
    expect([first.code, first.err]).toEqual([0, expect.stringContaining('3 rows, 3 URLs to buy')]);

    await inSource("INSERT INTO companies VALUES (4, 'Notion', 'https://www.notion.so')");
    await inSource("INSERT INTO companies VALUES (5, 'Nobody', 'no address')");
    await inSource("UPDATE companies SET name = 'Figma Inc.' WHERE id = 2");
    const second = await runExample('postgres-nightly/nightly.sh', more, folder);
    expect([second.code, second.err]).toEqual([0, expect.stringContaining('5 rows, 1 URL to buy')]);
    expect((await pgQuery(warehouse, sql('question'))).map(([what, id]) => [what, id])).toEqual([
      ['new', 4],
      ['missed', 5],
    ]);
  },
  180_000,
);
