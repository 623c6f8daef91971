import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { parse } from 'csv-parse/sync';
import { beforeAll, describe, expect, it } from 'vitest';
import { openReader } from '../../../src/sources/open-reader.js';
import { openWarehouse, utcText } from '../../../src/warehouse/index.js';
import { runJob, Service, stageText } from '../../suites/row-job.js';
import { folderOfFile } from '../../support/files/folders.js';
import { sharedPostgres } from '../../support/postgres.js';
import { publishFrom } from '../../support/publish/publish-from.js';
import { manifestIn, publishedRows } from '../../support/publish/read-target.js';
import { placeEmptyWarehouse } from '../../support/warehouse/empty-warehouse.js';
import { pgResult } from '../../support/warehouse/pg-query.js';
import { readDuckDb, runInDuckDb } from '../../support/warehouse/read-duckdb.js';

/** A value in DuckDB's words, and its texts where they differ: in files and DuckDB, and in PostgreSQL. */
type Value =
  | string
  | readonly [value: string, postgres: string]
  | readonly [value: string, postgres: string, csv: string];
/** A type of a source, and the types of its column in a DuckDB file, in Parquet and in PostgreSQL. */
type Kind = readonly [source: string, duckDb: string, parquet: string, postgres: string, ...values: Value[]];

const same = (type: string, postgres: string, ...values: Value[]): Kind => [type, type, type, postgres, ...values];
const timestamp = 'timestamp without time zone';
const kinds: readonly Kind[] = [
  same('VARCHAR', 'text', ' a,"b" ', '', 'NULL', '\\.'),
  same('BOOLEAN', 'boolean', 'true', 'false'),
  same('TINYINT', 'smallint', '-128', '127'),
  same('SMALLINT', 'smallint', '-32768', '32767'),
  same('INTEGER', 'integer', '-2147483648', '2147483647'),
  same('BIGINT', 'bigint', '-9223372036854775808', '9223372036854775807'),
  same('UTINYINT', 'smallint', '0', '255'),
  same('USMALLINT', 'integer', '65535'),
  same('UINTEGER', 'bigint', '4294967295'),
  same('UBIGINT', 'numeric(20,0)', '18446744073709551614', '18446744073709551615'),
  [
    ...['HUGEINT', 'HUGEINT', 'DECIMAL(38,0)', 'numeric(39,0)'],
    ...['18446744073709551616', '18446744073709551617', '-99999999999999999999999999999999999999'],
  ] as unknown as Kind,
  [
    ...['HUGEINT', 'HUGEINT', 'VARCHAR', 'numeric(39,0)'],
    ...['170141183460469231731687303715884105727', '-170141183460469231731687303715884105728', '7'],
  ] as unknown as Kind,
  ['UHUGEINT', 'UHUGEINT', 'VARCHAR', 'numeric(39,0)', '340282366920938463463374607431768211455', '0'],
  same('DECIMAL(38,0)', 'numeric(38,0)', '-99999999999999999999999999999999999999', '1'),
  same('DECIMAL(38,37)', 'numeric(38,37)', '-9.9999999999999999999999999999999999999'),
  same('DECIMAL(4,2)', 'numeric(4,2)', '99.90', '-0.01'),
  same('FLOAT', 'real', ['nan', 'NaN'], ['inf', 'Infinity'], ['-0.0', '-0'], '0.1', '3.4028235e+38', '1e-45'),
  same(
    'DOUBLE',
    'double precision',
    ...([['nan', 'NaN'], ['-inf', '-Infinity'], ['-0.0', '-0'], '0.1'] as const),
    ...['1.7976931348623157e+308', '5e-324'],
  ),
  same('DATE', 'date', 'infinity', '-infinity', '9999-12-31', ['0044-03-15 (BC)', '0044-03-15 BC'], '5874897-12-31'),
  same('DATE', 'text', '5877642-06-25 (BC)', '5881580-07-10', '2024-02-29'),
  same('TIME', 'time without time zone', '00:00:00', '23:59:59.999999', '24:00:00'),
  ['TIME WITH TIME ZONE', 'VARCHAR', 'VARCHAR', 'text', '01:02:03.5+05:30', '23:59:59-15:59'],
  same(
    'TIMESTAMP',
    timestamp,
    ...(['infinity', '2024-02-29 23:59:59.123456', '294247-01-10 04:00:54.775806'] as const),
    ...([['0044-03-15 (BC) 12:00:00', '0044-03-15 12:00:00 BC']] as const),
  ),
  same('TIMESTAMP', 'text', '290309-12-22 (BC) 00:00:00', '2024-02-29 23:59:59.123456'),
  ['TIMESTAMP_S', 'TIMESTAMP_S', 'TIMESTAMP', timestamp, '2024-02-29 23:59:59', '1969-12-31 23:59:59'],
  ['TIMESTAMP_MS', 'TIMESTAMP_MS', 'TIMESTAMP', timestamp, '2024-02-29 23:59:59.123'],
  same('TIMESTAMP_NS', timestamp, '2024-02-29 23:59:59.123456'),
  same('TIMESTAMP_NS', 'text', '2262-04-11 23:47:16.854775806', '1677-09-22 00:00:00'),
  same(
    'TIMESTAMP WITH TIME ZONE',
    'timestamp with time zone',
    ...(['infinity', '-infinity', '2024-02-29 23:59:59.5+00', '294247-01-10 04:00:54.775806+00'] as const),
  ),
  [
    ...(['INTERVAL', 'INTERVAL', 'VARCHAR', 'interval'] as const),
    ...(['00:00:00.000001', '-00:00:00.000001', ['-1 year', '-1 years'], ['-3 days', '-3 days']] as const),
    ['1 year 2 months -3 days -04:05:06.000007', '1 year 2 mons -3 days -04:05:06.000007'],
  ],
  same('UUID', 'uuid', '0194d6e1-7a3b-7c44-9a55-1f2e3d4c5b6a', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
  same('BLOB', 'bytea', ['\\x00\\xFFa', '\\x00ff61', 'AP9h'], ['', '\\x', '']),
  ['BIT', 'VARCHAR', 'VARCHAR', 'text', '0101', '1'],
  ["ENUM('a', 'b ''c')", 'VARCHAR', 'VARCHAR', 'text', 'a', "b 'c"],
  ['JSON', 'VARCHAR', 'VARCHAR', 'text', '{"a":[1,null],"b":12345678901234567890.5}', '"\\\\u0000"', 'null'],
  ['UNION(n INTEGER, s VARCHAR)', 'VARCHAR', 'VARCHAR', 'text', '{"s":"x"}'],
  same('INTEGER[]', 'jsonb', ['[1, NULL, 3]', '[1, null, 3]', '[1,null,3]'], ['[]', '[]', '[]']),
  same('INTEGER[][]', 'jsonb', ['[[1, 2], [], NULL]', '[[1, 2], [], null]', '[[1,2],[],null]']),
  ['INTEGER[2]', 'INTEGER[2]', 'INTEGER[]', 'jsonb', ['[1, 2]', '[1, 2]', '[1,2]']],
  [
    ...(['HUGEINT[]', 'HUGEINT[]', 'DECIMAL(38,0)[]', 'jsonb'] as const),
    [
      '[18446744073709551616, 18446744073709551617]',
      '[18446744073709551616, 18446744073709551617]',
      '[18446744073709551616,18446744073709551617]',
    ],
  ],
  [
    'INTERVAL[]',
    'INTERVAL[]',
    'VARCHAR[]',
    'jsonb',
    ["['-00:00:00.000001']", '["-00:00:00.000001"]', '["-00:00:00.000001"]'],
  ],
  same(
    'DOUBLE[]',
    'jsonb',
    ['[1.5, nan, -inf]', '["1.5", "nan", "-inf"]', '[1.5,"nan","-inf"]'],
    ['[0.1]', '[0.1]', '[0.1]'],
  ),
  same('STRUCT(a INTEGER, "b c" VARCHAR[])', 'jsonb', [
    "{'a': 1, 'b c': [x, NULL]}",
    '{"a": 1, "b c": ["x", null]}',
    '{"a":1,"b c":["x",null]}',
  ]),
  same('MAP(VARCHAR, DATE)', 'jsonb', ['{k=2024-02-29}', '{"k": "2024-02-29"}', '{"k":"2024-02-29"}']),
];

const columns = kinds.map(([source, ...rest], index) => ({ source, rest, name: `c${index}` }));
const longest = Math.max(...kinds.map(([, , , , ...values]) => values.length));
const rowsOf = (text: (value: Value) => string) =>
  Array.from({ length: longest + 1 }, (_, row) =>
    kinds.map(([, , , , ...values]) => (values[row] === undefined ? null : text(values[row]))),
  );
const plain = (value: Value) => (typeof value === 'string' ? value : value[0]);
const utc = "SET TimeZone = 'UTC';";
const dir = folderOfFile();
const source = join(dir, 'source.duckdb');

beforeAll(async () => {
  const cast = (value: string | null, type: string) => {
    if (value === null) return 'NULL';
    return type.startsWith('UNION') ? "union_value(s := 'x')" : `CAST('${value.replaceAll("'", "''")}' AS ${type})`;
  };
  const lines = rowsOf(plain).map(
    (row, index) =>
      `(${[`'https://${index}.com/'`, ...row.map((value, at) => cast(value, columns[at]?.source ?? ''))].join(', ')})`,
  );
  const definition = ['url VARCHAR', ...columns.map(({ name, source: type }) => `${name} ${type}`)];
  await runInDuckDb(
    source,
    `CREATE TABLE every (${definition.join(', ')}); INSERT INTO every VALUES ${lines.join(', ')}`,
  );
});

describe.each(['DuckDB', 'PostgreSQL'] as const)('values of every type, from a warehouse in %s,', (database) => {
  let address = '';
  const open = () => openWarehouse(address);

  beforeAll(async () => {
    address =
      database === 'DuckDB' ? placeEmptyWarehouse(join(dir, 'warehouse.duckdb')) : await sharedPostgres().database();
    const warehouse = open();
    const reader = openReader({
      input: source,
      table: 'every',
      stdin: Readable.from([]),
      delimiter: null,
      scratch: dir,
    });
    await runJob(dir, warehouse.rows, await stageText(dir, '', { reader }), new Service());
    await warehouse.close();
  });

  const publish = (to: string, mode: 'replace' | 'append' | 'merge' = 'replace') =>
    publishFrom(address, { to, mode, key: mode === 'merge' ? ['url'] : [] });
  const textOf = (name: string, source: string) =>
    source === 'TIMESTAMP WITH TIME ZONE' ? utcText(name) : `CAST(${name} AS VARCHAR)`;
  const texts = columns.map(({ name, source }) => `${textOf(name, source)} AS ${name}`).join(', ');
  const types = columns.map(({ name }) => `typeof(${name}) AS ${name}`).join(', ');
  const listed = (rows: readonly Record<string, unknown>[]) => rows.map((row) => columns.map(({ name }) => row[name]));

  it('are the same texts in a CSV', async () => {
    const warehouse = open();
    await warehouse.rows.exportCsv('brands-1', join(dir, 'out.csv'));
    await warehouse.close();
    const rows = parse(readFileSync(join(dir, 'out.csv'), 'utf8'), { columns: true }) as Record<string, string>[];
    expect(listed(rows)).toEqual(
      rowsOf((value) => (typeof value === 'string' ? value : (value[2] ?? value[0]))).map((row) =>
        row.map((cell) => cell ?? ''),
      ),
    );
  });

  it('are the same in Parquet files of an export and of a publish, with types that every reader knows', async () => {
    const to = join(dir, `folder-${database}`);
    await publish(to);
    // A second publish finds the same types; an interval in a list is a text in a list.
    await publish(to, 'merge');
    await publish(to, 'append');
    const expected = rowsOf(plain);
    const found = (await publishedRows(to, 'brands', `${texts}, row_number`)) ?? [];
    found.sort((a, b) => Number(a.row_number) - Number(b.row_number));
    expect(listed(found.filter((_, index) => index % 2 === 0))).toEqual(expected);
    expect(
      manifestIn(to)
        ?.tables[0]?.columns.slice(1, 1 + columns.length)
        .map(({ type }) => type),
    ).toEqual(kinds.map(([, , parquet]) => parquet));
    const warehouse = open();
    await warehouse.rows.exportParquet('brands-1', join(dir, `parquet-${database}`));
    await warehouse.close();
    const files = `read_parquet('${join(dir, `parquet-${database}`)}/*.parquet')`;
    expect(listed(await readDuckDb(source, `${utc} SELECT ${texts} FROM ${files} ORDER BY row_number`))).toEqual(
      expected,
    );
    const [kind] = await readDuckDb(source, `SELECT ${types} FROM ${files} LIMIT 1`);
    expect(Object.values(kind ?? {})).toEqual(kinds.map(([, , parquet]) => parquet));
  });

  it('are the same with the same types in a DuckDB file, also after a merge and an append', async () => {
    const to = join(dir, `target-${database}.duckdb`);
    await publish(to);
    await publish(to, 'merge');
    expect(listed(await readDuckDb(to, `${utc} SELECT ${texts} FROM brands ORDER BY row_number`))).toEqual(
      rowsOf(plain),
    );
    const [kind] = await readDuckDb(to, `SELECT ${types} FROM brands LIMIT 1`);
    expect(Object.values(kind ?? {})).toEqual(kinds.map(([, duckDb]) => duckDb));
    await publish(to, 'append');
    expect(await readDuckDb(to, 'SELECT CAST(count(*) AS INTEGER) AS n FROM brands')).toEqual([
      { n: 2 * (longest + 1) },
    ]);
  });

  it('are the same with types of their own in PostgreSQL, also after a merge and an append', async () => {
    const to = await sharedPostgres().database();
    await publish(to);
    await publish(to, 'merge');
    const names = columns.map(({ name }) => `${name}::text`).join(', ');
    const { rows } = await pgResult(
      `${to}?schema=public`,
      `SET timezone = 'UTC'; SELECT ${names} FROM brands ORDER BY row_number`,
    );
    expect(rows).toEqual(rowsOf((value) => (typeof value === 'string' ? value : value[1])));
    const kind = await pgResult(
      `${to}?schema=public`,
      `SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'brands'::regclass AND attname ~ '^c\\d+$' ORDER BY attnum`,
    );
    expect(kind.rows.flat()).toEqual(kinds.map(([, , , postgres]) => postgres));
    await publish(to, 'append');
  });
});
