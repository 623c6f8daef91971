import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBDateValue, DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rawJson } from '../../../src/api/checks/members.js';
import { millisOf } from '../../../src/core/text/value-forms.js';
import { jsonReader } from '../../../src/rows/index.js';
import { typedValue } from '../../../src/warehouse/shared/typed-value.js';
import { parquetRows, runJob, Service, stageText } from '../../suites/row-job.js';
import type { WarehouseUnderTest } from '../../suites/warehouse-under-test.js';
import { folderOfFile } from '../../support/files/folders.js';
import { sharedPostgres } from '../../support/postgres.js';
import { runs } from '../../support/property-runs.js';
import { pgQuery } from '../../support/warehouse/pg-query.js';
import { duckDbUnderTest, postgresUnderTest } from '../../support/warehouse/warehouses-under-test.js';

/** JSON, and texts, that some reader takes for a number, a time or a boolean, or that a database cannot hold. */
const odd = [
  '123456789012345678.5',
  '9007199254740993.0',
  '1e400',
  '-1e400',
  '1e-400',
  '-0',
  '0',
  '-0.0',
  '1.5',
  '1e3',
  '12345678901234567890123',
  '9223372036854775807',
  ...['9223372036854775808', '-9223372036854775808', '-9223372036854775809', '9007199254740993', '9007199254740993.0'],
  ...['1e18', '9.3e18', '18446744073709551615', 'true', 'false', 'null', '[]', '[1,[2]]', '{}', '{"a":1}'],
  ...['1.50', '1E+5', '-2.5e-8', '1e15', '1e20', '1e21', '0.000001', '1e-7', '9007199254740993.0', '-1e-400', '5e-324'],
  '{ "b" : 1e2, "\\u00e9" : [ 1.50, -0, "\\/\\t" ] }',
  '[ 1E5 , null ]',
  '{"b":1, "a":[{"c":1,"c":2.50}],"\\u0062":3}',
];
const oddTexts = [
  ...['NaN', 'nan', 'inf', 'Infinity', '-Infinity', '1e400', '-1e-400', ' 5', '5 ', '5\n', '0x1f', '1_000', '+5', '5.'],
  ...['.5', '007', '-0', '1e3', '1.0', '1,5', '9007199254740993.5', '1e18', 'true', 'TRUE', 'yes', 'on', 't', '1', ''],
  ...['today', 'now', 'epoch', 'infinity', '-infinity', '0000-00-00', '0000-01-01', '0001-01-01', '294277-01-01'],
  ...['2024-02-29', '2023-02-29', '2024-13-01', '9999-12-31', '2024-05-01T24:00:00Z', '2016-12-31T23:59:60Z'],
  ...['2024-05-01T10:00', '2024-05-01 10:00:00', '2024-05-01T10:00:00.1234567Z', '2024-05-01T10:00:00.9999999'],
  ...['2024-05-01T10:00:00+0530', '2024-05-01T10:00:00+05', '2024-05-01T10:00:00-14:00', '2024-05-01T10:00:00+15:00'],
  ...['2024-05-01t10:00:00z', '2024-05-01T10:00Z', '2024-05-01 10:00+05', '2024-05-01T10:00:00 Z', '2024-05-01x'],
  ...['2024-05-01T10:00:00 Europe/Berlin', '20240501', '12024-05-01', '2024-5-1', '01/02/2024', '2024-05-01 BC'],
  ...['\ud83d', '\ude00\ud83d', '\ud83d\ude00', '\0', 'a\0b', '\\u0000', '\\ud83d', '\u0001', 'x'.repeat(70_000)],
];
const oddValue = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      ...odd,
      ...oddTexts.map((text) => JSON.stringify(text)),
      `${'['.repeat(400)}${']'.repeat(400)}`,
    ),
  },
  fc
    .string({ unit: fc.nat(0xffff).map((code) => String.fromCharCode(code)), maxLength: 6 })
    .map((text) => JSON.stringify(text)),
  fc.date({ noInvalidDate: true }).map((date) => JSON.stringify(date.toISOString())),
  fc.oneof(fc.bigInt(-(2n ** 65n), 2n ** 65n), fc.integer()).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => JSON.stringify(number)),
);
/** Columns that keep their names in both databases. */
const apart = new Set(['at', 'day', 'response', 'cost_dollars']);
const types = { whole: 'integer', number: 'number', yes: 'boolean', text: 'string' } as const;
const properties = {
  ...Object.fromEntries(Object.entries(types).map(([name, type]) => [name, { type }])),
  ...{ day: { type: 'string', format: 'date' }, at: { type: 'string', format: 'date-time' }, any: {} },
  list: { type: 'array' },
  Whole: { type: ['integer', 'null'] },
  '': { type: 'integer' },
  'o\'"~/': { type: 'number' },
  in: {
    type: 'object',
    properties: { É: { type: 'integer' }, 'E\u0301': { type: 'integer' }, é: { type: 'string' } },
  },
  ...{ [`${'long'.repeat(30)}1`]: { type: 'integer' }, [`${'long'.repeat(30)}2`]: { type: 'integer' } },
};
const names = Object.keys(properties);
const anyAnswer = fc
  .tuple(
    fc.array(oddValue, { minLength: names.length, maxLength: names.length }),
    fc.array(oddValue, { minLength: 3, maxLength: 3 }),
    fc.nat(3),
  )
  .map(([values, inner, twice]) => {
    const fields = names.map((name, at) => {
      const nested = `{"É":${inner[0]},"E\u0301":${inner[1]},"é":${inner[2]}}`;
      return `${JSON.stringify(name)}:${name === 'in' ? nested : values[at]}`;
    });
    if (twice === 0) fields.push(`"whole":${inner[0]},"text":${inner[1]},"at":${inner[2]}`);
    return `{"answer":{${fields.join(',')},"a\\u0000b":1,"\\ud83d":2},"citations":[{"url":${values[0]},"title":${values[1]}}],"requestId":${values[2]}}`;
  });
const anyRow = fc
  .array(oddValue, { minLength: 4, maxLength: 4 })
  .map(
    ([a, b, c, d]) =>
      `{"name":${JSON.stringify('Acme')},"a":${a},"A":${b},"na\\u0000me":${c},"\\ud83d":{"k\\u0000\\udc00":${d}},"half":"\\ud83e"}`,
  );

/** An answer as it is landed. */
const kept = (answer: string) => rawJson(Buffer.from(answer)).text;

/** A text as both databases hold it: PostgreSQL has NUL as visible characters, and writes control characters with small digits. */
const shownText = (value: unknown) =>
  typeof value === 'string'
    ? value
        .replaceAll('\0', '\\u0000')
        .replaceAll('\\\\u0000', '\\u0000')
        .replace(/\\u00[01][0-9A-F]/g, (code) => code.toLowerCase())
    : value;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return `text ${text}`;
  }
}

/** A value as both databases hold it: PostgreSQL has NUL as visible characters, and the digits of a number in a text may differ. */
function plain(value: unknown): unknown {
  if (value instanceof Date) return value.getTime();
  if (value instanceof DuckDBDateValue) return value.days * 86_400_000;
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [plain(name), plain(one)]));
  if (typeof value !== 'string') return value === 0 ? 0 : value;
  if (/^[{[]/.test(value)) return plain(parsed(value));
  if (/^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(value)) return String(Number(value) + 0);
  return value.replaceAll('\0', '\\u0000');
}

describe('any values', () => {
  it('as an integer are exact, or misfits', async () => {
    const connection = await (await DuckDBInstance.create()).connect();
    const found = async (text: string) => {
      const duckDb = await connection.runAndReadAll(`SELECT CAST(${typedValue(`'${text}'`, 'integer')} AS VARCHAR)`);
      return duckDb.getRowsJson()[0]?.[0];
    };
    const values = [
      '9007199254740991.0',
      '9007199254740993.0',
      '123456789012345680.0',
      '1e18',
      '1e3',
      '12.5',
      '9223372036854775807',
    ];
    expect(await Promise.all(values.map(found))).toEqual([
      '9007199254740991',
      null,
      null,
      null,
      '1000',
      null,
      '9223372036854775807',
    ]);
  });

  const dir = folderOfFile();
  const zone = process.env.TZ;
  beforeAll(() => {
    process.env.TZ = 'America/New_York';
  });
  afterAll(() => {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  });

  it('[45, 71, 72, 74] of rows and answers load into both databases, in any zone, as equal values or equal misfits', async () => {
    expect(new Date(0).getTimezoneOffset()).toBe(300);
    const COUNT = runs(100);
    const answers = fc.sample(anyAnswer, { numRuns: COUNT, seed: 48 });
    const input = join(dir, 'rows.jsonl');
    const lines = fc.sample(anyRow, { numRuns: COUNT, seed: 48 }).map((row, n) => `{"n":${n},${row.slice(1)}\n`);
    writeFileSync(input, lines.join(''));
    const template = { query: 'Facts of {{n}}: {{name}} {{half}}' };
    const staged = await stageText(dir, '', {
      ...{ operation: 'answer', options: { outputSchema: { type: 'object', properties } }, rowsPerSlice: 100 },
      ...{ reader: jsonReader([input]), units: { kind: 'template', template } },
      request: { template, rowsPerRun: 1 },
    });
    expect(staged.record.rows).toBe(COUNT);
    const loaded = async (made: WarehouseUnderTest, kind: string, session = '') => {
      const service = new Service((unit) => ({ result: { raw: Number(/Facts of (\d+)/.exec(unit)?.[1]) } }));
      const raw = (json: string) => json.replace(/\{"raw":(\d+)\}/, (_, n) => kept(answers[Number(n)] as string));
      await runJob(dir, made.rows, staged, service, undefined, raw);
      expect(service.asked.every((unit) => unit.includes('Acme �'))).toBe(true);
      await made.rows.exportCsv('brands-1', join(dir, `${kind}.csv`));
      await made.rows.exportParquet('brands-1', join(dir, kind));
      const { names: columns, rows } = await made.query(`${session} SELECT * FROM brands ORDER BY row_number`);
      const misfits = await made.query('SELECT row_number, column_name, expected FROM misfits');
      const { success } = await made.rows.summary('brands-1');
      await made.close();
      const cells = rows.map((row) =>
        Object.fromEntries(columns.map((name, at) => [apart.has(name) ? name : at, plain(row[at])])),
      );
      // PostgreSQL cuts long names.
      const found = misfits.rows.map(([row, name, type]) => [row, String(name).replace(/^.*long.*/, 'long'), type]);
      const texts = rows.map((row) =>
        ['text', 'citation_url', 'citation_title'].map((name) => shownText(row[columns.indexOf(name)])),
      );
      return { success, cells, texts, misfits: found.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) };
    };
    const duckDb = await loaded(duckDbUnderTest(dir), 'duckdb');
    const database = await sharedPostgres().database();
    const { pathname } = new URL(database);
    for (const setting of ["timezone = 'Asia/Kolkata'", "datestyle = 'SQL, DMY'", "intervalstyle = 'sql_standard'"])
      await pgQuery(database, `ALTER DATABASE ${pathname.slice(1)} SET ${setting}`);
    const made = postgresUnderTest(`${database}?schema=any_values`);
    const postgres = await loaded(made, 'postgres', "SET datestyle = 'ISO, YMD';");
    expect([duckDb.success, postgres.success]).toEqual([COUNT, COUNT]);
    for (const [n, answer] of answers.entries()) {
      const shown = answer.slice(0, 2000);
      expect([shown, postgres.texts[n]]).toEqual([shown, duckDb.texts[n]]);
      const { response: _duck, cost_dollars: _one, ...row } = duckDb.cells[n] ?? {};
      const { response: _post, cost_dollars: _two, ...other } = postgres.cells[n] ?? {};
      expect([shown, other]).toEqual([shown, row]);
      const { day, at } = (JSON.parse(answer) as { answer: Record<string, unknown> }).answer;
      expect([shown, row.at, row.day]).toEqual([
        shown,
        millisOf(at),
        millisOf(day) && millisOf(String(day).slice(0, 10)),
      ]);
    }
    expect(postgres.misfits).toEqual(duckDb.misfits);
    expect(readFileSync(join(dir, 'postgres.csv')).equals(readFileSync(join(dir, 'duckdb.csv')))).toBe(true);
    const parquet = (kind: string) => parquetRows(join(dir, kind));
    expect(await parquet('postgres')).toEqual(await parquet('duckdb'));
  });
});
