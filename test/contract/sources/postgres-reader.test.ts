import { DuckDBInstance } from '@duckdb/node-api';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { CsvError, type RowRecord } from '../../../src/rows/index.js';
import { postgresReader } from '../../../src/sources/postgres-reader.js';
import { sharedPostgres } from '../../support/postgres.js';

const server = sharedPostgres();
let url: string;
let client: pg.Client;
beforeAll(async () => {
  url = await server.database('source');
  client = new pg.Client({ connectionString: url });
  await client.connect();
});
afterAll(() => client?.end());

async function read(sql: string, from = url) {
  const table = await postgresReader({ input: from }, sql).open();
  const records: RowRecord[] = [];
  try {
    for await (const batch of table.batches()) records.push(...batch);
  } finally {
    await table.close();
  }
  return { table, cells: records.map(({ cells }) => cells), records };
}

/** The message of a query that is refused. */
async function refusal(sql: string, from = url): Promise<string> {
  const error = await read(sql, from).catch((problem: unknown) => problem);
  expect(error).toBeInstanceOf(CsvError);
  expect((error as Error).message).not.toContain('\n');
  return (error as Error).message;
}

const withParameter = (parameter: string) => `${url}?${parameter}`;

describe('the values of a query', () => {
  const values: readonly (readonly [sql: string, type: string, text: string | null])[] = [
    ['true', 'BOOLEAN', 'true'],
    ['7::int2', 'SMALLINT', '7'],
    ['-7::int4', 'INTEGER', '-7'],
    ['9223372036854775807::int8', 'BIGINT', '9223372036854775807'],
    ['12.5::numeric(18,3)', 'DECIMAL(18,3)', '12.500'],
    ['12.5000::numeric', 'VARCHAR', '12.5000'],
    ['1::numeric(40,2)', 'VARCHAR', '1.00'],
    ['3::float8', 'DOUBLE', '3.0'],
    ['1e15::float8', 'DOUBLE', '1000000000000000.0'],
    ['1e16::float8', 'DOUBLE', '1e+16'],
    ['0.00001::float8', 'DOUBLE', '1e-05'],
    ["'-infinity'::float8", 'DOUBLE', '-inf'],
    ["'nan'::float8", 'DOUBLE', 'nan'],
    ['1e6::float4', 'FLOAT', '1000000.0'],
    ['0.1::float4', 'FLOAT', '0.1'],
    ["'2024-02-29'::date", 'DATE', '2024-02-29'],
    ["'0044-03-15 BC'::date", 'DATE', '0044-03-15 (BC)'],
    ["'23:59:59.500'::time", 'TIME', '23:59:59.5'],
    ["'2024-02-29 23:59:59.5'::timestamp", 'TIMESTAMP', '2024-02-29 23:59:59.5'],
    ["'2024-02-29 23:59:59.5+02'::timestamptz", 'TIMESTAMP WITH TIME ZONE', '2024-02-29 21:59:59.5+00'],
    ["'infinity'::timestamptz", 'TIMESTAMP WITH TIME ZONE', 'infinity'],
    ["'1 year 2 mons 1 day 04:05:06'::interval", 'INTERVAL', '1 year 2 months 1 day 04:05:06'],
    ["'-1 mons +2 days -04:05:06'::interval", 'INTERVAL', '-1 month 2 days -04:05:06'],
    ["'-1 days +04:05:06'::interval", 'INTERVAL', '-1 day 04:05:06'],
    ["'0'::interval", 'INTERVAL', '00:00:00'],
    ["'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::uuid", 'UUID', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'],
    ["'\\xdeadbeef'::bytea", 'BLOB', '3q2+7w=='],
    [`'{"b": 12.500, "a": [1, null]}'::json`, 'JSON', '{"a":[1,null],"b":12.5}'],
    [`'{"b": 12345678901234567890}'::jsonb`, 'JSON', '{"b":12345678901234567890}'],
    [`ARRAY['a', 'b,"c', NULL, 'NULL', '']`, 'VARCHAR[]', '["a","b,\\"c",null,"NULL",""]'],
    ['ARRAY[1, NULL, 3]', 'INTEGER[]', '[1,null,3]'],
    ['ARRAY[true, false]', 'BOOLEAN[]', '[true,false]'],
    ["ARRAY['2024-02-29'::date]", 'DATE[]', '["2024-02-29"]'],
    ["ARRAY[1.5, 'nan']::float8[]", 'DOUBLE[]', '[1.5,"nan"]'],
    ["'a'::char(3)", 'VARCHAR', 'a  '],
    ["'10.0.0.1'::inet", 'VARCHAR', '10.0.0.1'],
    ["ROW(1, 'x')", 'VARCHAR', '(1,x)'],
    ["''::text", 'VARCHAR', ''],
    ['NULL::int4', 'INTEGER', null],
    ["'ä😀'", 'VARCHAR', 'ä😀'],
  ];

  it('have the types and the canonical texts of DuckDB', async () => {
    const { table, cells } = await read(`SELECT ${values.map(([sql], index) => `${sql} AS c${index}`).join(', ')}`);
    expect(table.columns.map(({ type }, index) => [values[index]?.[0], type, cells[0]?.[index]])).toEqual(values);
    const casts = values.flatMap(([, type, text]) =>
      text === null || /\[\]|JSON|BLOB/.test(type)
        ? []
        : [[type, text, `CAST(CAST('${text.replaceAll("'", "''")}' AS ${type}) AS VARCHAR)`] as const],
    );
    const duckDb = await DuckDBInstance.create();
    onTestFinished(() => duckDb.closeSync());
    const connection = await duckDb.connect();
    await connection.run("SET TimeZone = 'UTC'");
    const row = (await connection.runAndReadAll(`SELECT ${casts.map(([, , sql]) => sql).join(', ')}`)).getRows()[0];
    expect(casts.map(([type], index) => [type, row?.[index]])).toEqual(casts.map(([type, text]) => [type, text]));
  });

  it('do not depend on settings of the database or the user', async () => {
    await client.query(`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET datestyle = German', current_database());
      EXECUTE format('ALTER DATABASE %I SET timezone = ''Asia/Tokyo''', current_database());
      EXECUTE format('ALTER DATABASE %I SET intervalstyle = iso_8601', current_database());
      EXECUTE format('ALTER DATABASE %I SET bytea_output = escape', current_database()); END $$`);
    const { cells } = await read(
      "SELECT '2024-02-29 10:00+00'::timestamptz, '2024-02-29'::date, '1 day'::interval, '\\x00'::bytea",
    );
    expect(cells).toEqual([['2024-02-29 10:00:00+00', '2024-02-29', '1 day', 'AA==']]);
  });
});

describe('a query', () => {
  it('returns all rows in order, in pieces, with its names', async () => {
    const sql =
      'SELECT n, n AS n, repeat(\'x\', n % 7) AS "a b" FROM generate_series(1, 5000) n ORDER BY n DESC; -- end';
    const { table, records } = await read(sql);
    expect(table.columns.map(({ name }) => name)).toEqual(['n', 'n_2', 'a b']);
    expect(table.renamed).toEqual([{ column: 2, name: 'n_2' }]);
    expect(records).toHaveLength(5000);
    expect(records[0]).toEqual({ line: 1, place: { word: 'row' }, cells: ['5000', '5000', 'xx'], problem: null });
    expect(records.every(({ cells }, index) => cells[0] === String(5000 - index))).toBe(true);
  });

  it('reads large rows in small pieces from the first on', async () => {
    const sql = "SELECT repeat('x', 3000000) FROM generate_series(1, 60)";
    const table = await postgresReader({ input: url }, sql).open();
    onTestFinished(() => table.close());
    const sizes: number[] = [];
    for await (const batch of table.batches()) sizes.push(batch.length);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(60);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(2);
  });

  it('finds its tables by the search path of the database, or by the schema of the address', async () => {
    await client.query('CREATE SCHEMA crm; CREATE TABLE crm.brands (id int); INSERT INTO crm.brands VALUES (7)');
    expect(await refusal('SELECT * FROM brands')).toContain('relation "brands" does not exist');
    expect((await read('SELECT * FROM brands', withParameter('schema=crm'))).cells).toEqual([['7']]);
  });

  it('that is not one SELECT which only reads is refused, and changes nothing', async () => {
    await client.query('CREATE TABLE public.kept (id int); INSERT INTO kept VALUES (1); CREATE SEQUENCE numbers');
    const only = 'The SQL must be one SELECT';
    expect(await refusal('SELECT 1; DROP TABLE kept')).toBe(`${only}, and it has several statements`);
    expect(await refusal('WITH gone AS (DELETE FROM kept RETURNING *) SELECT * FROM gone')).toContain(
      `${only}: it may read`,
    );
    expect(await refusal("SELECT nextval('numbers')")).toContain(`${only}: it may read`);
    expect(await refusal('SELECT * FROM kept FOR UPDATE')).toContain('read-only');
    for (const sql of [
      'DELETE FROM kept',
      'insert into kept values (2)',
      '-- x\nUPDATE kept SET id = 2',
      'DROP TABLE kept',
    ])
      expect(await refusal(sql), sql).toContain(`${only}: it may read tables and views, and change nothing`);
    expect(await refusal('SELECT * INTO other FROM kept')).toContain(`${only}: it may read`);
    expect(await refusal('SELCT 1')).toBe(
      'The SQL is not one valid SELECT (PostgreSQL: syntax error at or near "SELCT")',
    );
    for (const sql of ["COPY kept TO PROGRAM 'cat'", 'COMMIT', 'SET ROLE postgres', ''])
      expect(await refusal(sql), sql).toMatch(/^The SQL .*\(PostgreSQL: /);
    expect(await refusal('SELECT $1::int')).toContain('a parameter such as $1');
    expect((await client.query('SELECT * FROM kept')).rows).toEqual([{ id: 1 }]);
  });

  it('that names what is missing, or fails, is refused with the reason of the server', async () => {
    expect(await refusal('SELECT nope FROM kept')).toContain('column "nope" does not exist');
    expect(await refusal('SELECT nope()')).toContain('function nope() does not exist');
    expect(await refusal('SELECT 1 / n FROM generate_series(3, 0, -1) n')).toContain('division by zero');
    expect(await refusal('SELECT FROM kept')).toBe('The SQL has no columns');
  });

  it('that does not end is stopped: without a row, and with endless rows', async () => {
    const brief = withParameter('statement_timeout=300');
    const late = /^The SQL took more than 0\.3 s on postgres:\/\/\S+ and was stopped\. Make it faster/;
    expect(await refusal('SELECT pg_sleep(600)', brief)).toMatch(late);
    expect(await refusal('SELECT count(*) FROM generate_series(1, 1000000000000)', brief)).toMatch(late);
    expect(await refusal('SELECT 1 FROM generate_series(1, 1000000000000)', brief)).toMatch(late);
  });
});

describe('a server', () => {
  const login = (user: string, password: string) => Object.assign(new URL(url), { username: user, password }).href;

  it('that is away, or refuses the login or the table, is named in one sentence without the password', async () => {
    const away = await refusal('SELECT 1', 'postgres://someone:secret-word@127.0.0.1:9/db');
    expect(away).toMatch(/^The database postgres:\/\/127\.0\.0\.1:9\/db cannot be reached: .*ECONNREFUSED/);
    await client.query("CREATE ROLE reader LOGIN PASSWORD 'secret-word'; CREATE TABLE public.closed (id int)");
    const wrong = await refusal('SELECT 1', login('reader', 'wrong-word'));
    expect(wrong).toContain('password authentication failed for user "reader"');
    expect(wrong).toContain('SEARCHFLOW_SOURCE_URL, PGUSER and PGPASSWORD, or .pgpass');
    const closed = await refusal('SELECT * FROM public.closed', login('reader', 'secret-word'));
    expect(closed).toContain('permission denied for table closed');
    for (const message of [away, wrong, closed]) expect(message).not.toMatch(/secret-word|wrong-word/);
  });

  it('that ends the connection while rows are read gives an error that can be retried', async () => {
    const table = await postgresReader({ input: url }, 'SELECT n FROM generate_series(1, 100000) n').open();
    const rows = table.batches()[Symbol.asyncIterator]();
    await rows.next();
    await client.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'searchflow rows' AND datname = current_database()",
    );
    const error = await rows.next().catch((problem: unknown) => problem);
    expect(error).toMatchObject({ isTransient: true, message: expect.stringContaining('broke while rows were read') });
    await table.close();
  });
});
