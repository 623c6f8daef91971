import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { DuckDBInstance } from '@duckdb/node-api';
import { parse } from 'csv-parse/sync';
import { openReader } from '../../../src/sources/open-reader.js';
import { openWarehouse, utcText } from '../../../src/warehouse/index.js';
import { runJob, Service, stageText } from '../../suites/row-job.js';
import { pgResult } from '../warehouse/pg-query.js';
import { manifestIn } from './read-target.js';

/** Numbers from 0 to 1 that a seed decides. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const names = [
  'xmin',
  'ctid',
  'oid',
  'tableoid',
  'cmin',
  'XMAX',
  'select',
  'ORDER',
  'user',
  'row',
  'rowid',
  'size',
  'old',
  'new',
  ...['status', 'title', 'response', 'row_number', 'result_status', 'searchflow_new', 'filename', 'file_row_number'],
  'a b',
  'a"b',
  "it's",
  'a.b',
  'Ünï😀',
  ' padded ',
  '1st',
  'x'.repeat(70),
  `${'x'.repeat(70)}y`,
  'ä'.repeat(40),
  'a,b;c',
  '%',
  '\\',
  'Status',
  'A B',
  'Select',
  '1ST',
  'url',
  'URL',
  'group',
  'end',
  'null',
  'true',
  'table',
  'user',
  '日本語',
  '👩‍👩‍👧',
  ...['🇩🇪', 'e\u0301', 'é', '"', "'", '""', '$1', '{{a}}', '--', ';', '/* */', '\n', '\t', ' ', 'a\u00a0b', '\u200b'],
  ...['c0', 'data', 'value', 'İ', 'ı', 'ß', 'SS'],
];

/** Texts of a type that DuckDB casts. `n`: a number from 0 to 1. */
const integers = (bits: bigint, signed: boolean) => (n: () => number) => {
  const [low, high] = signed ? [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n] : [0n, 2n ** bits - 1n];
  const near = BigInt(Math.floor(n() * 3));
  const any = BigInt(Math.floor(n() * 2 ** 50)) * 2n ** BigInt(Math.floor(n() * Number(bits > 50n ? bits - 50n : 1n)));
  const value = pick(n, [low + near, high - near, any, signed ? -any : any, near]);
  return String(value < low ? low : value > high ? high : value);
};
const pick = <T>(n: () => number, from: readonly T[]): T => from[Math.floor(n() * from.length)] as T;
const digits = (n: () => number, count: number) => Array.from({ length: count }, () => Math.floor(n() * 10)).join('');
const two = (value: number) => String(value).padStart(2, '0');
const date = (n: () => number, years: readonly [number, number]) => {
  const year = Math.floor(years[0] + n() * (years[1] - years[0]));
  const day = `${two(1 + Math.floor(n() * 12))}-${two(1 + Math.floor(n() * 28))}`;
  return year > 0
    ? [`${String(year).padStart(4, '0')}-${day}`, '']
    : [`${String(1 - year).padStart(4, '0')}-${day}`, ' (BC)'];
};
const time = (n: () => number, places: number) =>
  `${two(Math.floor(n() * 24))}:${two(Math.floor(n() * 60))}:${two(Math.floor(n() * 60))}${places === 0 || n() < 0.3 ? '' : `.${digits(n, places)}`}`;
const moment =
  (years: readonly [number, number], places: number, zone = '') =>
  (n: () => number) => {
    if (places < 9 && n() < 0.1) return pick(n, ['infinity', '-infinity']);
    const [day, era] = date(n, n() < 0.7 ? [1970, 2038] : years);
    return `${day}${era} ${time(n, places)}${zone}`;
  };
const letters = [
  'a',
  'Z',
  '0',
  ' ',
  '"',
  "'",
  ',',
  ';',
  '\n',
  '\r\n',
  '\t',
  '\\',
  '\\.',
  '=1',
  'é',
  '😀',
  '{{x}}',
  'NULL',
  '\u0001',
  '<b>',
];
const text = (n: () => number) => Array.from({ length: Math.floor(n() * 8) }, () => pick(n, letters)).join('');
const double = (n: () => number) =>
  pick(n, [
    'nan',
    'inf',
    '-inf',
    '-0.0',
    '0',
    '5e-324',
    '1.7976931348623157e308',
    String((n() - 0.5) * 10 ** Math.floor(n() * 30 - 10)),
  ]);
const float = (n: () => number) =>
  pick(n, ['nan', 'inf', '-inf', '-0.0', '1e-45', '3.4028235e38', String(Math.fround(n() * 1000))]);
const interval = (n: () => number) => {
  const sign = () => (n() < 0.5 ? -1 : 1);
  const parts = [`${sign() * Math.floor(n() * 40)} months`, `${sign() * Math.floor(n() * 400)} days`];
  return `${parts.join(' ')} ${sign() * Math.floor(n() * 2 ** 42)} microseconds`;
};
const blob = (n: () => number) =>
  Array.from(
    { length: Math.floor(n() * 6) },
    () =>
      `\\x${Math.floor(n() * 256)
        .toString(16)
        .padStart(2, '0')
        .toUpperCase()}`,
  ).join('');
const uuid = (n: () => number) => `${digits(n, 8)}-${digits(n, 4)}-4${digits(n, 3)}-8${digits(n, 3)}-${digits(n, 12)}`;

type Make = (n: () => number) => string;
const kinds: readonly (readonly [type: string, make: Make])[] = [
  ...([8n, 16n, 32n, 64n, 128n] as const).flatMap((bits): (readonly [string, Make])[] => {
    const name = { 8: 'TINYINT', 16: 'SMALLINT', 32: 'INTEGER', 64: 'BIGINT', 128: 'HUGEINT' }[String(bits) as '8'];
    return [
      [name, integers(bits, true)],
      [`U${name}`, integers(bits, false)],
    ];
  }),
  ['HUGEINT', (n) => `${n() < 0.5 ? '-' : ''}${digits(n, 30)}`],
  ['VARCHAR', text],
  ['BOOLEAN', (n) => pick(n, ['true', 'false'])],
  ['DECIMAL(38,0)', (n) => digits(n, 1 + Math.floor(n() * 38))],
  ['DECIMAL(38,20)', (n) => `-${digits(n, 18)}.${digits(n, 20)}`],
  ['DECIMAL(9,2)', (n) => `${digits(n, 7)}.${digits(n, 2)}`],
  ['FLOAT', float],
  ['DOUBLE', double],
  [
    'DATE',
    (n) =>
      n() < 0.1
        ? pick(n, ['infinity', '-infinity'])
        : date(n, n() < 0.9 ? [-4000, 9999] : [-5877000, 5881000]).join(''),
  ],
  ['TIME', (n) => (n() < 0.1 ? '24:00:00' : time(n, 6))],
  ['TIME WITH TIME ZONE', (n) => `${time(n, 6)}+05:30`],
  ['TIMESTAMP', moment([-4000, 294000], 6)],
  ['TIMESTAMP', moment([-200000, 294000], 6)],
  ['TIMESTAMP_S', moment([-4000, 200000], 0)],
  ['TIMESTAMP_MS', moment([-4000, 200000], 3)],
  ['TIMESTAMP_NS', moment([1680, 2260], 9)],
  ['TIMESTAMP WITH TIME ZONE', moment([-4000, 294000], 6, '+00')],
  ['INTERVAL', interval],
  ['UUID', uuid],
  ['BLOB', blob],
  ['BIT', (n) => digits(n, 5).replace(/[2-9]/g, '0')],
  ["ENUM('a', 'b ''c', '')", (n) => pick(n, ['a', "b 'c", ''])],
  ['JSON', (n) => JSON.stringify({ a: [text(n), null, Number(digits(n, 12))], b: { c: n() < 0.5 } })],
];
const quote = (value: string) => `'${value.replaceAll("'", "''")}'`;
const name = (value: string) => `"${value.replaceAll('"', '""')}"`;

/** A list, struct or map of values of a type. */
function nested(n: () => number): readonly [type: string, sql: () => string] {
  const [type, make] = pick(n, kinds);
  const value = () => (n() < 0.15 ? 'NULL' : `CAST(${quote(make(n))} AS ${type})`);
  const list = () => `[${Array.from({ length: 1 + Math.floor(n() * 3) }, value).join(', ')}]`;
  return pick(n, [
    [`${type}[]`, list],
    [`${type}[][]`, () => `[${list()}, NULL, []]`],
    [`${type}[2]`, () => `[${value()}, ${value()}]`],
    [`STRUCT(a ${type}, "b c" VARCHAR[])`, () => `{'a': ${value()}, 'b c': [${quote(text(n))}, NULL]}`],
    [`MAP(VARCHAR, ${type})`, () => `MAP {${quote(`k${digits(n, 2)}`)}: ${value()}}`],
    [
      `STRUCT(a ${type}[], "B""" MAP(VARCHAR, STRUCT(c ${type})))[]`,
      () => `[{'a': ${list()}, 'B"': MAP {'k': {'c': ${value()}}}}, NULL]`,
    ],
  ] as const);
}

export interface MadeColumn {
  /** Its name in the input, which another column may have, too. */
  readonly name: string;
  readonly type: string;
  /** SQL of the value as text, with the type of the source. */
  readonly text: string;
}

export interface MadeTable {
  readonly name: string;
  readonly columns: readonly MadeColumn[];
  /** Creates the table, whose columns are `c0`, `c1` and so on. */
  readonly sql: string;
  /** Reads its rows, with the names of the input. */
  readonly query: string;
}

const URL_COLUMN = 'the site';

/** A table with random columns, names and values. */
export function madeTable(seed: number): MadeTable {
  const n = randomOf(seed * 7919 + 13);
  const rows = 1 + Math.floor(n() * 6);
  const shuffled = [...names].sort(() => n() - 0.5).slice(0, 2 + Math.floor(n() * 6));
  const columns = shuffled.map((column) => {
    const [type, make] = pick(n, kinds);
    if (n() < 0.3) {
      const [deep, sql] = nested(n);
      return { name: column, type: deep, values: Array.from({ length: rows }, () => (n() < 0.2 ? 'NULL' : sql())) };
    }
    const values = Array.from({ length: rows }, () => (n() < 0.2 ? 'NULL' : `CAST(${quote(make(n))} AS ${type})`));
    return { name: column, type, values };
  });
  const table = `made ${seed}`;
  const lines = Array.from(
    { length: rows },
    (_, row) => `(${[quote(`https://${row}.com/`), ...columns.map(({ values }) => values[row])].join(', ')})`,
  );
  const definition = [`${name(URL_COLUMN)} VARCHAR`, ...columns.map(({ type }, at) => `c${at} ${type}`)];
  const named = columns.map((column, at) => `c${at} AS ${name(column.name)}`);
  return {
    name: table,
    columns: columns.map(({ name: column, type }, at) => ({ name: column, type, text: textOf(`c${at}`, type) })),
    sql: `CREATE TABLE ${name(table)} (${definition.join(', ')}); INSERT INTO ${name(table)} VALUES ${lines.join(', ')};`,
    query: `SELECT ${[name(URL_COLUMN), ...named].join(', ')} FROM ${name(table)} ORDER BY ${name(URL_COLUMN)}`,
  };
}

const isNested = (type: string) => /\]$|^(STRUCT|MAP)/.test(type);

/** A text of a value that its readers agree on: the canonical text, with the bytes of a BLOB, and JSON for parts. */
function textOf(column: string, type: string): string {
  if (type === 'BLOB') return `hex(CAST(${column} AS BLOB))`;
  if (/^(TIME WITH|BIT|ENUM|JSON)/.test(type) && !isNested(type)) return `CAST(${column} AS VARCHAR)`;
  const value = `CAST(${column} AS ${type})`;
  if (type === 'TIMESTAMP WITH TIME ZONE') return utcText(value);
  return isNested(type) ? `CAST(to_json(${value}) AS VARCHAR)` : `CAST(${value} AS VARCHAR)`;
}

export type Texts = readonly (readonly (string | null)[])[];

/** How a target is read: by Node, or by Python. `selects`: SQL of each column. */
export interface TableReader {
  /** Files of one table in Parquet. */
  parquet(asked: readonly Asked[]): Promise<readonly Texts[]>;
  /** Tables of a DuckDB file. */
  duckDb(file: string, asked: readonly Asked[]): Promise<readonly Texts[]>;
  /** All columns of tables of a PostgreSQL schema, as text. */
  postgres(url: string, tables: readonly string[]): Promise<readonly Texts[]>;
}

export interface Asked {
  readonly table: string;
  readonly files: readonly string[];
  readonly selects: readonly string[];
}

async function queried(file: string, statements: readonly string[]): Promise<Texts[]> {
  const instance = await DuckDBInstance.create(file);
  const connection = await instance.connect();
  try {
    await connection.run("SET TimeZone = 'UTC'");
    const found: Texts[] = [];
    for (const sql of statements) found.push((await connection.runAndReadAll(sql)).getRowsJson() as unknown as Texts);
    return found;
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

export const nodeReader: TableReader = {
  parquet: (asked) =>
    queried(
      ':memory:',
      asked.map(({ files, selects }) =>
        `SELECT ${selects.join(', ')} FROM read_parquet([${files.map(quote).join(', ')}]) ORDER BY row_number_of`.replace(
          'row_number_of',
          selects.at(-1) as string,
        ),
      ),
    ),
  duckDb: (file, asked) =>
    queried(
      file,
      asked.map(({ table, selects }) => `SELECT ${selects.join(', ')} FROM ${name(table)} ORDER BY ${selects.at(-1)}`),
    ),
  async postgres(url, tables) {
    const found: Texts[] = [];
    for (const table of tables)
      found.push((await pgResult(url, await postgresQuery(url, table))).rows as unknown as Texts);
    return found;
  },
};

/** All columns in their order, as texts. */
async function postgresQuery(url: string, table: string): Promise<string> {
  const { rows } = await pgResult(
    url,
    `SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(${quote(name(table))}) AND attnum > 0 ORDER BY attnum`,
  );
  const columns = rows.map(([column]) => `${name(String(column))}::text`);
  return `SET timezone = 'UTC'; SET bytea_output = 'hex'; SELECT ${columns.join(', ')} FROM ${name(table)} ORDER BY ${name(String(rows.at(-1)?.[0]))}`;
}

/** Python reads the targets: Parquet through Arrow, and PostgreSQL through psycopg. */
export function pythonReader(python: string, script: string, folder: string): TableReader {
  const run = async (request: object): Promise<readonly Texts[]> => {
    writeFileSync(join(folder, 'request.json'), JSON.stringify(request));
    return JSON.parse(
      execFileSync(python, [script, join(folder, 'request.json')], { maxBuffer: 1 << 28 }).toString(),
    ) as Texts[];
  };
  return {
    parquet: (asked) => run({ kind: 'parquet', asked }),
    duckDb: (file, asked) => run({ kind: 'duckdb', file, asked }),
    postgres: async (url, tables) => {
      const statements: string[] = [];
      for (const table of tables) statements.push((await postgresQuery(url, table)).split('; ').at(-1) as string);
      return run({ kind: 'postgres', url, statements });
    },
  };
}

const jobOf = (table: string) => `${table.replace(' ', '-')}-1`;

/** Runs tables through a warehouse and each target. Returns the differences, in words; none if all values are equal. */
export async function checkTables(
  dir: string,
  seeds: readonly number[],
  { warehouse: address, postgres, reader }: { warehouse: string; postgres: string; reader: TableReader },
): Promise<string[]> {
  mkdirSync(dir, { recursive: true });
  const made = seeds.map(madeTable);
  const source = join(dir, 'source.duckdb');
  const expected = await queried(source, [
    ...made.map(({ sql }) => sql),
    ...made.map(
      ({ name: table, columns }) =>
        `SELECT ${columns.map(({ text: sql }) => sql).join(', ')} FROM ${name(table)} ORDER BY ${name(URL_COLUMN)}`,
    ),
  ]).then((all) => all.slice(made.length));
  const warehouse = openWarehouse(address);
  const [folder, file] = [join(dir, 'folder'), join(dir, 'target.duckdb')];
  const exported: string[] = [];
  /** The types of the columns of each job, which may differ from those of its table. */
  const types: (readonly string[])[] = [];
  const csv: string[][][] = [];
  try {
    for (const [index, { name: table, query }] of made.entries()) {
      const job = jobOf(table);
      const read = openReader({ input: source, sql: query, stdin: Readable.from([]), delimiter: null, scratch: dir });
      const staged = await stageText(dir, '', {
        reader: read,
        job,
        name: table,
        urlColumn: URL_COLUMN,
        rowsPerSlice: 10,
      });
      types.push(staged.record.types?.slice(1) ?? []);
      await runJob(dir, warehouse.rows, staged, new Service());
      await warehouse.rows.exportCsv(job, join(dir, 'out.csv'));
      csv.push(parse(readFileSync(join(dir, 'out.csv'), 'utf8'), { relaxColumnCount: true }).slice(1));
      exported.push(join(dir, `${job}-parquet`));
      await warehouse.rows.exportParquet(job, exported.at(-1) as string);
      const whole = { subject: { job }, key: [], partition: null } as const;
      for (const to of [folder, file, postgres]) {
        await warehouse.publisher.publish({ ...whole, to, mode: 'replace' });
        if (index % 4 > 0) continue;
        // The second night finds the same types.
        await warehouse.publisher
          .publish({ ...whole, to, mode: 'merge', key: ['row_number'] })
          .catch((error: Error) => {
            if (!error.message.includes('--key')) throw error;
          });
      }
    }
  } finally {
    await warehouse.close();
  }
  const published = manifestIn(folder)?.tables ?? [];
  const viewNames = (table: string) =>
    published.find((one) => one.name === table)?.columns.map((column) => column.name) ?? [];
  const asked = (files: (table: string, index: number) => readonly string[]): Asked[] =>
    made.map(({ name: table }, index) => {
      const [, ...view] = viewNames(table);
      const selects = (types[index] ?? []).map((type, at) => textOf(name(view[at] ?? ''), type));
      return { table, files: files(table, index), selects: [...selects, name(view.at(-1) ?? '')] };
    });
  const ofManifest = (table: string) =>
    published.find((one) => one.name === table)?.files.map(({ path }) => join(folder, path)) ?? [];
  const named = made.map(({ name: table }) => table);
  const isDuckDb = !address.startsWith('postgres');
  const inWarehouse = `${address}?schema=searchflow`;
  const misfits = new Set(
    isDuckDb ? [] : (await pgResult(inWarehouse, 'SELECT job, row_number FROM misfits')).rows.map((row) => row.join()),
  );
  const all = {
    view: isDuckDb
      ? await nodeReader.duckDb(
          address,
          asked(() => []),
        )
      : (await nodeReader.postgres(inWarehouse, named)).map((rows) => rows.map(([, ...row]) => row)),
    'exported Parquet': await reader.parquet(
      asked((_, index) => [join(exported[index] as string, 'part-00000.parquet')]),
    ),
    'published Parquet': await reader.parquet(asked(ofManifest)),
    DuckDB: await reader.duckDb(
      file,
      asked(() => []),
    ),
    PostgreSQL: (await reader.postgres(postgres, named)).map((rows) => rows.map(([, ...row]) => row)),
    CSV: csv.map((rows) => rows.map(([, ...row]) => row)),
  };
  return Object.entries(all).flatMap(([target, tables]) =>
    made.flatMap(({ name: table, columns }, index) => {
      const [found = [], wanted = []] = [tables[index], expected[index]];
      if (found.length !== wanted.length) return [`${target}, ${table}: ${found.length} rows of ${wanted.length}`];
      return wanted.flatMap((row, at) =>
        columns.flatMap(({ name: column, type }, number) => {
          const [is = null, was = null] = [found[at]?.[number], row[number]];
          const isSame = is === was || plain(is, type, target) === plain(was, type, 'source', target);
          if (target === 'view' && is === null && misfits.has(`${jobOf(table)},${at + 1}`)) return [];
          return isSame ? [] : [`${target}, ${table}, ${column} (${type}), row ${at}: ${is} in place of ${was}`];
        }),
      );
    }),
  );
}

/** A value in words that all targets share. */
function plain(value: string | null, type: string, from: string, to = from): string | null {
  // A CSV has no NULL.
  if (to === 'CSV') return value === null ? '' : plain(value, type, from === 'source' ? 'source' : 'cell');
  if (value === null) return null;
  if (type === 'BLOB')
    return from === 'cell'
      ? Buffer.from(value, 'base64').toString('hex').toUpperCase()
      : value.replace(/^\\x/, '').toUpperCase();
  if (isNested(type) || type === 'JSON')
    return sorted(value.replace(/(-?)\b(NaN|Infinity)\b(?=[,\]}])/g, '"$1$2"'), type.includes('FLOAT'));
  if (/^(FLOAT|DOUBLE)$/.test(type))
    return (
      value
        .toLowerCase()
        .replace('infinity', 'inf')
        // A DuckDB file may store 0.0 and -0.0 of a column as one constant.
        .replace(/^(-?\d.*)$/, (digit) => String(Number(digit) + 0))
    );
  if (type === 'INTERVAL')
    return value
      .replace(/\bmon(s?)\b/g, 'month$1')
      .replace('+', '')
      .replace(/(-1 (?:year|month|day))\b(?!s)/g, '$1s')
      .replace(/(-?\b1 (?:year|month|day))s\b/g, '$1');
  return value.replace(/^(\S+) \(BC\)(.*)$/, '$1$2 BC');
}

const sorted = (text: string, isFloat: boolean): string => {
  try {
    return JSON.stringify(ordered(JSON.parse(text), isFloat));
  } catch {
    return text;
  }
};
/** A text in JSON; in PostgreSQL the numbers beside NaN or an infinity are texts. */
const textual = (value: string, isFloat: boolean): string =>
  /^-?\d[\d.]*(e[+-]?\d+)?$/i.test(value)
    ? String((isFloat ? Math.fround(Number(value)) : Number(value)) + 0)
    : value.toLowerCase().replace(/^(-?)infinity$/, '$1inf');
const ordered = (value: unknown, isFloat: boolean): unknown => {
  if (Array.isArray(value)) return value.map((one) => ordered(one, isFloat));
  if (typeof value === 'string' || typeof value === 'number') return textual(String(value), isFloat);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, one]) => [key, ordered(one, isFloat)]));
};
