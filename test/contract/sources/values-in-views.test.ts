import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openReader } from '../../../src/sources/open-reader.js';
import { runJob, Service, stageText } from '../../suites/row-job.js';
import { type InFolder, makeInFolder } from '../../suites/warehouse-under-test.js';
import { sharedPostgres } from '../../support/postgres.js';
import { runInDuckDb } from '../../support/warehouse/read-duckdb.js';
import { duckDbUnderTest, postgresUnderTest } from '../../support/warehouse/warehouses-under-test.js';

/** SQL of a value, its type in a job, and its texts in the views of DuckDB and PostgreSQL; null: NULL and a misfit. */
type Case = readonly [sql: string, type: string, duckDb: string, postgres: string | null];
const same = (sql: string, type: string, text: string): Case => [sql, type, text, text];

const ofPostgres: readonly Case[] = [
  same("'{{1,2},{3,4}}'::int[][]", 'INTEGER[][]', '[[1, 2], [3, 4]]'),
  ["'[0:1][5:6]={{1,2},{3,NULL}}'::int[]", 'INTEGER[][]', '[[1, 2], [3, NULL]]', '[[1, 2], [3, null]]'],
  [
    '\'{{{a,b}},{{"{c",NULL}}}\'::text[][][]',
    'VARCHAR[][][]',
    "[[[a, b]], [['{c', NULL]]]",
    '[[["a", "b"]], [["{c", null]]]',
  ],
  same("'{{1,2}}'::grid", 'INTEGER[][]', '[[1, 2]]'),
  same("'1 2 3'::int2vector", 'VARCHAR', '1 2 3'),
  same("'4 5'::oidvector", 'VARCHAR', '4 5'),
  ["ARRAY['\\x00ff61'::bytea, NULL]", 'JSON', '["\\\\x00\\\\xFFa",null]', '["\\\\x00\\\\xFFa", null]'],
  ["ARRAY[1.5, 'nan', '-inf']::float8[]", 'DOUBLE[]', '[1.5, nan, -inf]', '[1.5, "nan", "-inf"]'],
  same("'NaN'::numeric(9,2)", 'VARCHAR', 'NaN'),
  ["ARRAY['NaN', 1.50]::numeric(9,2)[]", 'JSON', '["NaN",1.5]', '["NaN", 1.5]'],
  same("'infinity'::interval", 'VARCHAR', 'infinity'),
  same("'1073741824:00:00'::interval", 'VARCHAR', '1073741824:00:00'),
  ["ARRAY['-infinity'::interval]", 'JSON', '["-infinity"]', '["-infinity"]'],
  same("'294276-12-31 23:59:59.999999'::timestamp", 'VARCHAR', '294276-12-31 23:59:59.999999'),
  same("'294276-12-31 23:59:59+00'::timestamptz", 'VARCHAR', '294276-12-31 23:59:59+00'),
  ["'5874897-12-31'::date", 'DATE', '5874897-12-31', '5874897-12-31'],
  ["'4714-11-24 BC'::date", 'DATE', '4714-11-24 (BC)', '4714-11-24 BC'],
  ['ARRAY[\'{"a": [1]}\'::jsonb]', 'JSON[]', '[{"a":[1]}]', '[{"a": [1]}]'],
  same("'{}'::int[]", 'INTEGER[]', '[]'),
];

const ofDuckDb: readonly Case[] = [
  ["['\\x00\\xFFa'::BLOB, NULL]", 'JSON', '["\\\\x00\\\\xFFa",null]', '["\\\\x00\\\\xFFa", null]'],
  ["{'a': 1, 'b': '\\x00\"'::BLOB}", 'JSON', '{"a":1,"b":"\\\\x00\\\\x22"}', '{"a": 1, "b": "\\\\x00\\\\x22"}'],
  ["MAP {'k': ['\\x80'::BLOB]}", 'JSON', '{"k":["\\\\x80"]}', '{"k": ["\\\\x80"]}'],
  ["CAST(['1.5', 'nan', '-inf'] AS DOUBLE[])", 'DOUBLE[]', '[1.5, nan, -inf]', '[1.5, "nan", "-inf"]'],
  ["CAST(['inf'] AS FLOAT[])", 'FLOAT[]', '[inf]', '["inf"]'],
  [
    "{'a': 'nan'::DOUBLE, 'b': 'x,NaN,y'}",
    'STRUCT(a DOUBLE, b VARCHAR)',
    "{'a': nan, 'b': 'x,NaN,y'}",
    '{"a": "nan", "b": "x,NaN,y"}',
  ],
  ['MAP {[1, 2]: 3}', 'JSON', '{"[1, 2]":3}', '{"[1, 2]": 3}'],
  same("row(1, 'x')", 'VARCHAR', '(1, x)'),
  same('to_hours(1073741824)', 'VARCHAR', '1073741824:00:00'),
  ['[to_hours(1073741824)]', 'JSON', '["1073741824:00:00"]', '["1073741824:00:00"]'],
  same("'2262-04-11 23:47:16.854775806'::TIMESTAMP_NS", 'TIMESTAMP_NS', '2262-04-11 23:47:16.854775806'),
  [
    "'2024-02-29 23:59:59.123456789'::TIMESTAMP_NS",
    'TIMESTAMP_NS',
    '2024-02-29 23:59:59.123456789',
    '2024-02-29 23:59:59.123456789',
  ],
  ["'5877642-06-25 (BC)'::DATE", 'DATE', '5877642-06-25 (BC)', null],
  ["'5881580-07-10'::DATE", 'DATE', '5881580-07-10', null],
  ["'290309-12-22 (BC) 00:00:00'::TIMESTAMP", 'TIMESTAMP', '290309-12-22 (BC) 00:00:00', null],
  ["'4714-11-23 (BC)'::DATE", 'DATE', '4714-11-23 (BC)', null],
  ["'[1e200000]'::JSON", 'JSON', '[1e200000]', null],
  [
    "['24:00:00'::TIME, '23:59:59.999999'::TIME]",
    'TIME[]',
    "['24:00:00', '23:59:59.999999']",
    '["24:00:00", "23:59:59.999999"]',
  ],
  ['CAST([0.1] AS FLOAT[])', 'FLOAT[]', '[0.1]', '[0.10000000149011612]'],
];

let source: string;
const list = (cases: readonly Case[]) => cases.map(([sql], index) => `${sql} AS c${index}`).join(', ');
const kinds = {
  PostgreSQL: async (cases: readonly Case[], dir: string) => {
    const sql = `SELECT 'https://a.com/' AS url, ${list(cases)}`;
    return openReader({ input: source, sql, stdin: process.stdin, delimiter: null, scratch: dir });
  },
  DuckDB: async (cases: readonly Case[], dir: string) => {
    const file = join(dir, 'source.duckdb');
    await runInDuckDb(file, `CREATE VIEW made AS SELECT 'https://a.com/' AS url, ${list(cases)}`);
    return openReader({ input: file, table: 'made', stdin: process.stdin, delimiter: null, scratch: dir });
  },
};

let test: InFolder;
let database: string;
beforeAll(async () => {
  source = await sharedPostgres().database();
  database = await sharedPostgres().database();
  const client = new pg.Client({ connectionString: source });
  await client.connect();
  await client.query('CREATE DOMAIN grid AS int[]');
  await client.end();
});
afterEach(() => test.remove());

describe.each([
  ['PostgreSQL', ofPostgres],
  ['DuckDB', ofDuckDb],
] as const)('values of %s', (kind, cases) => {
  it.each(['DuckDB', 'PostgreSQL'] as const)('are equal in the view of a warehouse in %s, or misfits', async (to) => {
    test = await makeInFolder(
      to === 'DuckDB' ? duckDbUnderTest : () => postgresUnderTest(`${database}?schema=from_${kind.toLowerCase()}`),
    );
    const staged = await stageText(test.dir, '', { reader: await kinds[kind](cases, test.dir) });
    await runJob(test.dir, test.rows, staged, new Service());
    const wanted = cases.map(([, , duckDb, postgres]) => (to === 'DuckDB' ? duckDb : postgres));
    const [found = []] = await test.values(
      `SELECT ${cases.map((_, index) => `CAST(c${index} AS text)`).join(', ')} FROM brands`,
    );
    const shown = (texts: readonly unknown[]) => cases.map(([sql, type], index) => [sql, type, texts[index]]);
    const types = staged.record.types?.slice(1) ?? [];
    expect(cases.map(([sql], index) => [sql, types[index], found[index]])).toEqual(shown(wanted));
    const misfits = await test.values('SELECT column_name, expected FROM misfits ORDER BY column_name');
    const lacking = cases.flatMap(([, type], index) => (wanted[index] === null ? [[`c${index}`, type]] : []));
    expect(misfits).toEqual(lacking.sort());
  });
});
