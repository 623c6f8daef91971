import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { UnitOutcome, UnitRecord } from '../../../src/core/purchase/journal.js';
import type { RowWarehouse } from '../../../src/core/rows/row-warehouse.js';
import { RawJson } from '../../../src/core/text/json.js';
import { migrate, openPostgres, parseAddress } from '../../../src/postgres/index.js';
import { unitLine } from '../../../src/store/file/unit-record.js';
import { openWarehouse } from '../../../src/warehouse/index.js';
import { postgresSchema } from '../../../src/warehouse/postgres/schema.js';
import { reparse } from '../../../src/worker/staging/reparse.js';
import { exported, runJob, Service, stageText } from '../../suites/row-job.js';
import { folderOfFile } from '../../support/files/folders.js';
import { sharedPostgres } from '../../support/postgres.js';
import { pgQuery } from '../../support/warehouse/pg-query.js';
import { runInDuckDb } from '../../support/warehouse/read-duckdb.js';

const dir = folderOfFile();
const server = sharedPostgres();
let database: string;
beforeAll(async () => {
  database = await server.database();
});

const odd =
  '{"title":["T"], "author":"A","text":7,"big":9007199254740993,"far":1e400,"none":-0,"long":123456789012345678901234567890,"twice":1,"twice":2,"one":1.0,"say":",\\"result\\":ü"}';
const plain = '{"title":"B","text":"b"}';
const csv = 'name,url\na,https://a.com/\nb,https://b.com/\n';
const misread = 'title: expected string, received array; text: expected string, received number';

/** The line that the journal writes for an answer with this JSON text as its result. */
function asItCame(json: string): string {
  const record = JSON.parse(json) as UnitRecord;
  const first = record.unit.includes('a.com');
  const outcome: UnitOutcome = {
    ...{ key: record.key, unit: record.unit, status: 'success', errorTag: null, httpStatus: null, source: null },
    costMicros: 1001,
    result: new RawJson(first ? odd : plain),
    ...(first ? { misread, told: { result: ',"result":' } } : {}),
  };
  return `${unitLine(outcome, 'contents', 'request-1', Date.parse('2026-11-20T10:00:00Z'))}\n`;
}

interface Opened {
  readonly warehouse: RowWarehouse;
  query(sql: string): Promise<unknown[][]>;
}

const databases: readonly (readonly [string, () => Opened])[] = [
  [
    'DuckDB',
    () => {
      const file = join(dir, 'rows.duckdb');
      const warehouse = openWarehouse(file).rows;
      const query = async (sql: string) => {
        await warehouse.close();
        return (await runInDuckDb(file, sql)).map((row) => Object.values(row));
      };
      return { warehouse, query };
    },
  ],
  [
    'PostgreSQL',
    () => {
      const url = `${database}?schema=exact`;
      return { warehouse: openWarehouse(url).rows, query: (sql) => pgQuery(url, sql) };
    },
  ],
];

describe.each(databases)('in %s, fault 58: an answer', (_name, open) => {
  it('is kept unchanged; a field of another type is NULL in its column and reported, and dollars are exact', async () => {
    const { warehouse, query } = open();
    const staged = await stageText(dir, csv);
    await runJob(dir, warehouse, staged, new Service(), undefined, asItCame);
    const rows = await query(
      `SELECT status, error_message, title, author, text, CAST(response AS VARCHAR) AS response, CAST(cost_dollars AS VARCHAR) AS dollars
       FROM enriched_rows ORDER BY row_number`,
    );
    expect(rows).toEqual([
      ['success', misread, null, 'A', null, odd, '0.001001'],
      ['success', null, 'B', null, 'b', plain, '0.001001'],
    ]);
    const ofJob = await query('SELECT text, CAST(cost_dollars AS VARCHAR) FROM brands ORDER BY row_number');
    expect(ofJob).toEqual([
      [null, '0.001001'],
      ['b', '0.001001'],
    ]);
    const file = await exported(dir, warehouse);
    expect(file.map(({ text, error_message: said, cost_dollars: cost }) => [text, said, cost])).toEqual([
      ['', misread, '0.001001'],
      ['b', '', '0.001001'],
    ]);
    await warehouse.close();
  });

  it('that an earlier version could not read is read again without buying, or its row says that it cannot be', async () => {
    const { warehouse, query } = open();
    const staged = await stageText(dir, `${csv}c,https://c.com/\n`, { job: 'old-1', name: 'old' });
    const body = `{"results":[{"id":"https://b.com/","title":"B"},{"id":"https://a.com/","title":"A","author":["x"],"n":1e400}]}`;
    const before: Record<string, Partial<UnitRecord>> = {
      'https://a.com/': { request_id: 'one', result: { body } },
      'https://b.com/': { request_id: 'one', result: null },
      'https://c.com/': { request_id: 'two', result: { body: '<html>' } },
    };
    const service = new Service((url) => ({
      status: 'error',
      error_tag: 'RESPONSE_SHAPE',
      source: null,
      ...before[url],
    }));
    await runJob(dir, warehouse, staged, service);
    const job = { job: 'old-1', operation: 'contents' } as never;
    expect(await reparse(warehouse, job, dir)).toEqual({ answers: 3, understood: 1, rows: 3 });
    const rows = `SELECT status, error_tag, error_message, title, author, cost_micros, request_id, CAST(response AS VARCHAR)
      FROM enriched_rows WHERE job = 'old-1' ORDER BY row_number`;
    const first = await query(rows);
    expect(first).toEqual([
      [
        ...['success', null, 'author: expected string, received array', 'A', null, expect.anything(), 'one'],
        '{"id":"https://a.com/","title":"A","author":["x"],"n":1e400}',
      ],
      ['success', null, null, 'B', null, expect.anything(), 'one', '{"id":"https://b.com/","title":"B"}'],
      [
        'error',
        'RESPONSE_SHAPE',
        expect.stringContaining('--retry-failed'),
        null,
        null,
        expect.anything(),
        'two',
        expect.stringContaining('<html>'),
      ],
    ]);
    expect(first.map((row) => Number(row[5]))).toEqual([1000, 1000, 1000]);
    // A second `reparse` changes nothing.
    expect(await reparse(warehouse, job, dir)).toEqual({ answers: 2, understood: 0, rows: 2 });
    expect(await query(rows)).toEqual(first);
    await warehouse.close();
  });
});

it("a PostgreSQL warehouse reads times and numbers with PostgreSQL's own operators in any session", async () => {
  const postgres = await openPostgres(parseAddress(`${database}?schema=readers`, 'readers'), {
    applicationName: 'test',
    patienceMs: 5000,
    max: 1,
  });
  const read = () =>
    postgres.transaction(async (tx) => {
      await tx.query('SET LOCAL search_path TO readers_in_front, pg_catalog');
      return tx.query(`SELECT readers.searchflow_number('1.5') AS number, readers.searchflow_integer('2.7') AS integer,
        extract(epoch FROM readers.searchflow_time('1970-01-01T00:00:01Z'))::integer AS time`);
    });
  try {
    await migrate(postgres, postgresSchema);
    // Another user has an operator that PostgreSQL finds before its own: it says that every text has the form of a number.
    await postgres.query(`CREATE SCHEMA readers_in_front;
      CREATE FUNCTION readers_in_front.always(text, text) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true';
      CREATE OPERATOR readers_in_front.~ (LEFTARG = text, RIGHTARG = text, FUNCTION = readers_in_front.always)`);
    expect(await read()).toMatchObject([{ number: 1.5, integer: null, time: 1 }]);
  } finally {
    await postgres.close();
  }
});
