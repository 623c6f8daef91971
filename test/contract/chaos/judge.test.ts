import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { judgeRows } from '../../chaos/judge-rows.mjs';
import { hashOf } from '../../service/chance.mjs';
import { startService } from '../../service/service.mjs';
import { folderOfTest } from '../../support/files/folders.js';
import { runInDuckDb } from '../../support/warehouse/read-duckdb.js';

const urlOf = (index: number) => `https://site-0-${index}.example/about`;

/** A campaign of ten rows without disturbances: each row was bought by itself, loaded and exported. */
async function campaign() {
  const dir = folderOfTest();
  const service = await startService();
  onTestFinished(() => service.close());
  const buy = (urls: string[]) =>
    fetch(`${service.url}/contents`, {
      method: 'POST',
      headers: { 'x-api-key': service.key },
      body: JSON.stringify({ urls }),
    });
  const rows = Array.from({ length: 10 }, (_, index) => ({ id: `0-${index}`, name: `c${index}`, url: urlOf(index) }));
  for (const { url } of rows) await buy([url]);
  const csv = join(dir, 'out.csv');
  writeFileSync(csv, `id\n${rows.map(({ id }) => id).join('\n')}\n`);
  const warehouse = join(dir, 'warehouse.duckdb');
  const sql = (...statements: string[]) => runInDuckDb(warehouse, ...statements);
  const values = rows.map(
    ({ id, url }, index) =>
      `('job', ${index + 1}, ['${id}'], '${url}', 'success', NULL, 'Page ${hashOf(url) % 1000}', 'strict-${index + 1}', NULL, 'unit ${index}')`,
  );
  await runInDuckDb(
    warehouse,
    `CREATE TABLE enriched_rows (job text, row_number bigint, input text[], url text, status text, error_tag text, title text,
       request_id text, vanished_at timestamp, unit_key text)`,
    'CREATE TABLE unknown_outcomes (unit_keys text[])',
    `INSERT INTO enriched_rows VALUES ${values.join(', ')}`,
  );
  const usage = { landedDollars: 0.01, unknownDollars: 0, unknownOutcomes: 0 };
  const findings: string[] = [];
  const judge = async () => {
    await judgeRows(
      {
        ...{ dir, warehouse, service, findings, disturbedAt: [0], result: [{ rows, csv }] },
        ...{ env: { SEARCHFLOW_CONCURRENCY: '4', SEARCHFLOW_QPS: '20' } },
        toEnd: async () => JSON.stringify({ total: usage }),
      },
      { keyOf: ({ url }: { url: string }) => url },
    );
    return findings;
  };
  return { buy, sql, usage, judge };
}

it('the judge of a campaign finds nothing if nothing is wrong', async () => {
  const { judge } = await campaign();
  expect(await judge()).toEqual([]);
});

it.each([
  ['a row is lost', 'DELETE FROM enriched_rows WHERE row_number = 3', 'lost: 1 rows, such as 0-2'],
  ['a row is there twice', 'INSERT INTO enriched_rows FROM enriched_rows LIMIT 1', 'doubled: 1 rows, such as 0-0'],
  [
    'a row has another number',
    'UPDATE enriched_rows SET row_number = 12 WHERE row_number = 3',
    '1 rows have another number',
  ],
  [
    'a row has the answer of another',
    "UPDATE enriched_rows SET title = 'x' WHERE row_number = 3",
    '0-2 has the answer of another row',
  ],
  [
    'a row failed for no reason',
    "UPDATE enriched_rows SET status = 'error', error_tag = 'ODD' WHERE row_number = 3",
    '0-2 is error: ODD',
  ],
])('the judge of a campaign finds that %s', async (_what, statement, finding) => {
  const { sql, judge } = await campaign();
  await sql(statement);
  expect((await judge()).join('\n')).toContain(finding);
});

it('the judge of a campaign finds purchases that were made twice, unless they are listed', async () => {
  const { buy, sql, usage, judge } = await campaign();
  await buy([urlOf(4)]);
  Object.assign(usage, { unknownDollars: 0.001, unknownOutcomes: 1 });
  expect(await judge()).toEqual(['bought again and not listed: 1 units, such as 0-4']);
  await sql("INSERT INTO unknown_outcomes VALUES (['unit 4'])");
  expect((await judge()).slice(1)).toEqual([]);
});

it('the judge of a campaign finds purchases of unknown units, and a bill that differs by a cent', async () => {
  const { buy, usage, judge } = await campaign();
  await buy(['https://somewhere.example/']);
  usage.landedDollars = 0.021;
  const found = (await judge()).join('\n');
  expect(found).toContain('bought unasked: 1 units, such as https://somewhere.example/');
  expect(found).toContain('usage says $0.021, the bill $0.011');
});
