import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { beforeAll, describe, expect, it } from 'vitest';
import { CsvError, type RowRecord } from '../../../src/rows/index.js';
import { isolatedReader } from '../../../src/sources/isolated-reader.js';
import type { SourceRequest } from '../../../src/sources/source-request.js';
import { folderOfFile } from '../../support/files/folders.js';
import { runInDuckDb } from '../../support/warehouse/read-duckdb.js';

const dir = folderOfFile();
const input = join(dir, 'x.duckdb');
beforeAll(async () => {
  await runInDuckDb(
    input,
    `CREATE TABLE brands AS SELECT i AS id, 'Brand ' || i AS name FROM range(3) t(i);
    CREATE SCHEMA raw; CREATE TABLE raw.sites (url VARCHAR); INSERT INTO raw.sites VALUES ('https://a.com'), (NULL);
    CREATE VIEW late AS SELECT * FROM brands WHERE id > 1`,
  );
});

let count = 0;
async function read(more: Partial<SourceRequest>) {
  const scratch = join(dir, `scratch-${++count}`);
  mkdirSync(scratch);
  const request = { input, stdin: Readable.from([]), delimiter: null, scratch, ...more };
  const table = await isolatedReader(request, null, process.env).open();
  try {
    const rows: RowRecord[] = [];
    for await (const batch of table.batches()) rows.push(...batch);
    return { table, cells: rows.map(({ cells }) => cells), rows };
  } finally {
    await table.close();
  }
}

async function refusal(more: Partial<SourceRequest>): Promise<string> {
  const error = await read(more).catch((problem: unknown) => problem);
  expect(error).toBeInstanceOf(CsvError);
  return (error as Error).message;
}

describe('the rows of a DuckDB file', () => {
  it('are those of a table, a view or a query, with columns of different names', async () => {
    expect((await read({ table: 'late' })).cells).toEqual([['2', 'Brand 2']]);
    expect((await read({ table: 'raw.sites' })).cells).toEqual([['https://a.com'], [null]]);
    const { table, cells } = await read({
      sql: 'SELECT id, name, id, 1 + 1 FROM brands WHERE id < 2 ORDER BY id DESC; -- last first',
    });
    expect(table.columns.map(({ name, type }) => [name, type])).toEqual([
      ['id', 'BIGINT'],
      ['name', 'VARCHAR'],
      ['id_1', 'BIGINT'],
      ['(1 + 1)', 'INTEGER'],
    ]);
    expect(cells).toEqual([
      ['1', 'Brand 1', '1', '2'],
      ['0', 'Brand 0', '0', '2'],
    ]);
  });

  it('have a note if their query has no order', async () => {
    const notes = async (sql: string) => (await read({ sql })).table.notes;
    expect(await notes('FROM brands ORDER BY id')).toEqual([]);
    expect(await notes('SELECT id FROM brands UNION SELECT 7 ORDER BY 1')).toEqual([]);
    expect(await notes('SELECT * FROM (FROM brands ORDER BY id)')).toEqual([expect.stringMatching(/no ORDER BY/)]);
  });

  it('come from one SELECT that reads nothing but the file', async () => {
    writeFileSync(join(dir, 'secret.csv'), 'a\n1\n');
    const sqls: [sql: string, why: RegExp][] = [
      ['SELEC 1', /^The SQL is not valid: syntax error at or near "SELEC"/],
      ['', /one SELECT, and it has no statement/],
      ['SELECT 1; SELECT 2', /one SELECT, and it has 2 statements/],
      ['DROP TABLE brands', /must be one SELECT/],
      ['INSERT INTO brands VALUES (1, 2) RETURNING *', /must be one SELECT/],
      [`COPY brands TO '${dir}/out.csv'`, /must be one SELECT/],
      ["ATTACH 'y.duckdb'", /must be one SELECT/],
      ['SET enable_external_access = true', /must be one SELECT/],
      [`SELECT * FROM read_csv('${dir}/secret.csv')`, /may read only tables and views of .*x\.duckdb/],
      [`SELECT * FROM '${dir}/secret.csv'`, /may read only tables and views of .*x\.duckdb/],
      [`SELECT * FROM glob('${dir}/*')`, /may read only tables and views of .*x\.duckdb/],
      ['SELECT * FROM brandz', /^The SQL fails: Table with name brandz does not exist/],
      ['SELECT nope FROM brands', /^The SQL fails: Referenced column "nope" not found/],
      ['SELECT CAST(name AS INTEGER) FROM brands', /^The SQL fails: Could not convert string/],
      ['SELECT $1', /^The SQL fails: /],
    ];
    for (const [sql, why] of sqls) expect(await refusal({ sql }), sql).toMatch(why);
    expect(await refusal({ table: 'brandz' })).toMatch(
      /has no table or view "brandz"; it has brands, late, raw\.sites$/,
    );
  });

  it('end if the query never does', async () => {
    expect(
      await refusal({
        sql: 'SELECT sum(a.range * b.range) FROM range(1000000000) a, range(1000000000) b',
        limitMs: 200,
      }),
    ).toMatch(/^The query returned no row for 0 s and was stopped/);
  });

  it('are refused while another process writes', async () => {
    const code = `const { DuckDBInstance } = await import(process.argv[1]); globalThis.kept = await DuckDBInstance.create(process.argv[2]);
      process.stdout.write('open'); setInterval(() => undefined, 1000);`;
    const driver = import.meta.resolve('@duckdb/node-api');
    const writer = spawn(process.execPath, ['--input-type=module', '-e', code, driver, input]);
    try {
      await once(writer.stdout, 'data');
      expect(await refusal({ table: 'brands', limitMs: 300 })).toMatch(
        new RegExp(`x\\.duckdb is open for writing in process ${writer.pid}: close it there, or copy the file`),
      );
    } finally {
      writer.kill('SIGKILL');
      await once(writer, 'close');
    }
    expect((await read({ table: 'late' })).cells).toHaveLength(1);
  });

  it('are refused for other files', async () => {
    writeFileSync(join(dir, 'rows.csv'), 'a\n1\n');
    expect(await refusal({ input: join(dir, 'rows.csv'), table: 'a' })).toMatch(
      /is not a DuckDB file: --sql and --table need one/,
    );
    expect(await refusal({ input: join(dir, 'none.duckdb'), table: 'a' })).toMatch(/none\.duckdb does not exist/);
  });
});
