import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ColumnType } from '#searchflow/core/rows/column-type.js';
import type { RowReader } from '#searchflow/rows/index.js';
import { parquetRows, runJob, Service, stageText } from './row-job.js';
import { type InFolder, type MakeWarehouse, makeInFolder } from './warehouse-under-test.js';

/** A value of each type: its canonical text, and its texts in a view of DuckDB and of PostgreSQL if they differ. */
export const typedValues: readonly [type: ColumnType, text: string, duckDb?: string, postgres?: string][] = [
  ['VARCHAR', ' a,"b" '],
  ['BOOLEAN', 'true'],
  ['TINYINT', '-128'],
  ['INTEGER', '2147483647'],
  ['BIGINT', '-9223372036854775808'],
  ['UBIGINT', '18446744073709551615'],
  ['HUGEINT', '-170141183460469231731687303715884105728'],
  ['DECIMAL(38,3)', '12345678901234567890123456789012345.500'],
  ['FLOAT', '0.1'],
  ['DOUBLE', '1e+20'],
  ['DATE', '2024-02-29'],
  ['DATE', '0044-03-15 (BC)', '0044-03-15 (BC)', '0044-03-15 BC'],
  ['TIME', '23:59:59.123456'],
  ['TIMESTAMP', '2024-02-29 23:59:59.123456'],
  ['TIMESTAMP WITH TIME ZONE', '2024-02-29 23:59:59.5+00'],
  ['INTERVAL', '1 year 2 months 3 days 04:05:06', undefined, '1 year 2 mons 3 days 04:05:06'],
  ['UUID', '0194d6e1-7a3b-7c44-9a55-1f2e3d4c5b6a'],
  ['BLOB', 'AP9h', '\\x00\\xFFa', '\\x00ff61'],
  ['JSON', '{"a":[1,null],"b":12345678901234567890.5}', undefined, '{"a": [1, null], "b": 12345678901234567890.5}'],
  [
    'STRUCT(a INTEGER, b VARCHAR[])',
    '{"a":1,"b":["x",null]}',
    "{'a': 1, 'b': [x, NULL]}",
    '{"a": 1, "b": ["x", null]}',
  ],
  ['INTERVAL', '1 month -2 days -00:00:00.000001', undefined, '1 mon -2 days -00:00:00.000001'],
  ['TIMESTAMP_S', '2024-02-29 23:59:59'],
  ['TIMESTAMP_MS', '2024-02-29 23:59:59.123'],
  ['TIMESTAMP', '-infinity'],
  ['DOUBLE', 'nan', undefined, 'NaN'],
  ['DOUBLE', '-inf', undefined, '-Infinity'],
  ['UHUGEINT', '340282366920938463463374607431768211455'],
  ['INTEGER[3]', '[1,2,3]', '[1, 2, 3]', '[1, 2, 3]'],
  ['INTEGER[][]', '[[1,null],[],null]', '[[1, NULL], [], NULL]', '[[1, null], [], null]'],
  ['MAP(VARCHAR, DATE)', '{"k":"2024-02-29"}', '{k=2024-02-29}', '{"k": "2024-02-29"}'],
];
const columns = [{ name: 'url', type: 'VARCHAR' }, ...typedValues.map(([type], at) => ({ name: `c${at}`, type }))];

/** A reader of a table in memory: URLs, and a column for each value. */
export function tableReader(rows: readonly (readonly (string | null)[])[]): RowReader {
  return {
    open: async () => ({
      ...{ columns, isTyped: true, renamed: [], delimiter: null, notes: [] },
      async *batches() {
        yield rows.map((cells, index) => ({ line: index + 1, place: { word: 'row' as const }, cells, problem: null }));
      },
      contentHash: () => null,
      progress: () => ({ bytes: 0, total: null }),
      close: async () => undefined,
    }),
  };
}

/** The contract of typed columns: values, their types and NULL come out of a warehouse as they went in. */
export function typedRowsContract(make: MakeWarehouse, isDuckDb: boolean): void {
  let test: InFolder;
  beforeEach(async () => {
    test = await makeInFolder(make);
  });
  afterEach(() => test.remove());

  const rows = [
    ['https://a.com/1', ...typedValues.map(([, text]) => text)],
    ['https://a.com/2', ...typedValues.map(() => null)],
    ['https://a.com/3', '', ...typedValues.slice(1).map(() => null)],
  ];
  const run = async () => {
    const staged = await stageText(test.dir, '', { reader: tableReader(rows) });
    await runJob(test.dir, test.rows, staged, new Service());
    return staged;
  };

  it('come out of the view as they went in, and NULL is not an empty text', async () => {
    await run();
    const texts = columns.map(({ name }) => `CAST(${name} AS text) AS ${name}`).join(', ');
    const found = await test.values(`SELECT ${texts} FROM brands ORDER BY row_number`);
    const expected = typedValues.map(([, text, duckDb = text, postgres = text]) => (isDuckDb ? duckDb : postgres));
    expect(found).toEqual([['https://a.com/1', ...expected], rows[1], rows[2]]);
    const counts = typedValues.map((_, at) => `count(c${at})`).join(', ');
    const [filled] = await test.values(`SELECT ${counts} FROM brands`);
    expect(filled?.map(Number)).toEqual(typedValues.map((_, at) => (at === 0 ? 2 : 1)));
  });

  it('have their types in Parquet, and their texts in a CSV, with NULL beside an empty text', async () => {
    const { record } = await run();
    await test.rows.exportParquet(record.job, `${test.dir}/parquet`);
    const [first, second, third] = await parquetRows(`${test.dir}/parquet`);
    expect(first).toMatchObject({ c7: '12345678901234567890123456789012345.500', c3: 2147483647, c10: '2024-02-29' });
    expect(first?.c19).toEqual({ a: 1, b: ['x', null] });
    expect([second?.c0, third?.c0, second?.c3]).toEqual([null, '', null]);
    await test.rows.exportCsv(record.job, `${test.dir}/out.csv`);
    const { readFileSync } = await import('node:fs');
    const lines = readFileSync(`${test.dir}/out.csv`, 'utf8').split('\n');
    expect(lines[1]).toContain('12345678901234567890123456789012345.500');
    expect(lines[2]).toMatch(/^https:\/\/a.com\/2,,,/);
    expect(lines[3]).toMatch(/^https:\/\/a.com\/3,"",,/);
  });

  it('change with the types of the input, and rows with equal texts stay', async () => {
    const { record, files } = await run();
    const types = record.types?.map((type) => (type === 'INTEGER' ? 'BIGINT' : type)) ?? [];
    await test.rows.openJob({ ...record, types, generation: 'other' }, files);
    const [kind] = await test.values(
      `SELECT ${isDuckDb ? 'typeof' : 'pg_typeof'}(c3)${isDuckDb ? '' : '::text'} FROM brands LIMIT 1`,
    );
    expect(String(kind?.[0]).toLowerCase()).toBe('bigint');
    expect((await test.rows.summary(record.job)).success).toBe(3);
  });
}
