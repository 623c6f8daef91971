import { open, stat } from 'node:fs/promises';
import type { DuckDBConnection, DuckDBPreparedStatement } from '@duckdb/node-api';
import { RESULT_MARK } from '../../core/purchase/journal.js';
import type { SqlValue, Transaction } from '../dialect.js';
import { literal, plainPath } from '../shared/duckdb-quote.js';
import { loadDuckDb } from '../shared/load-duckdb.js';
import { duckDbDialect } from './dialect.js';
import { withPartFiles } from './part-files.js';
import { stagePages } from './staged-pages.js';

/**
 * A transaction over a connection. Large integers come as `bigint`, so a statement casts its columns to the types of `Row`. `longest`: bytes of
 * the longest line of unit files, if known.
 */
export function transactionOf(connection: DuckDBConnection, longest = 0): Transaction {
  const run: Transaction['run'] = async (sql, values) => {
    await (values ? withPrepared(connection, sql, values, (one) => one.run()) : connection.run(sql));
  };
  return {
    dialect: duckDbDialect,
    run,
    runOnMany: run,
    createTemp: (name, query, values) => run(`CREATE TEMP TABLE ${name} AS ${query}`, values),
    async rows<Row extends object>(sql: string, values?: readonly SqlValue[]) {
      const reader = await (values
        ? withPrepared(connection, sql, values, (one) => one.runAndReadAll())
        : connection.runAndReadAll(sql));
      return reader.getRowObjectsJS() as Row[];
    },
    // Transactions that change the same tables run one at a time, see `Warehouse.use`.
    lock: async () => undefined,
    async readRows(files, cells, work) {
      const [file] = files;
      if (file === undefined) return;
      const size = files.length === 1 ? await unpackedSize(file) : MAX_OBJECT;
      await work(stagedRows(files, cells, Math.min(MAX_OBJECT, size)));
    },
    async readUnits(files, careful, work) {
      if (files.length === 0) return;
      await withPartFiles(files, careful, async (parts) => {
        // A statement for each part takes little memory, and a third more time.
        for (const some of careful ? parts.map((part) => [part]) : [parts]) {
          const sizes = await Promise.all(some.map(async (part) => (await stat(part)).size));
          await work(unitRecords(some, Math.min(Math.max(...sizes), Math.max(MAX_OBJECT, longest))));
        }
      });
    },
    stage: stagePages,
  };
}

/**
 * Runs prepared statements. Without preparation, the connection would first split the text into statements on another thread, and each
 * switch of threads waits for a free thread.
 */
async function withPrepared<T>(
  connection: DuckDBConnection,
  sql: string,
  values: readonly SqlValue[],
  work: (statement: DuckDBPreparedStatement) => Promise<T>,
): Promise<T> {
  const { LIST, listValue, VARCHAR } = await loadDuckDb();
  const statement = await connection.prepare(sql);
  try {
    for (const [index, value] of values.entries()) {
      const at = index + 1;
      if (value === null) statement.bindNull(at);
      else if (typeof value === 'string') statement.bindVarchar(at, value);
      else if (typeof value === 'boolean') statement.bindBoolean(at, value);
      else if (typeof value !== 'number') statement.bindList(at, listValue([...value]), LIST(VARCHAR));
      else if (Number.isSafeInteger(value)) statement.bindBigInt(at, BigInt(value));
      else statement.bindDouble(at, value);
    }
    return await work(statement);
  } finally {
    statement.destroySync();
  }
}

const rowFields = { n: 'BIGINT', h: 'VARCHAR', k: 'VARCHAR', e: 'VARCHAR', m: 'VARCHAR' };
const cellFields = { u: 'VARCHAR', d: 'BOOLEAN', i: 'VARCHAR[]' };

/** Relation of the staged rows of files, for lines of at most `bytes` bytes; see `Transaction.readRows`. */
function stagedRows(files: readonly string[], cells: boolean, bytes: number): string {
  const fields = Object.entries(cells ? { ...rowFields, ...cellFields } : rowFields);
  const columns = fields.map(([name, type]) => `${name}: '${type}'`).join(', ');
  const slice = files.length === 1 ? '0' : `list_position([${files.map(literal).join(', ')}], filename) - 1`;
  return `(SELECT * EXCLUDE (filename), CAST(${slice} AS INTEGER) AS slice FROM read_json(${listOf(files)},
    format = 'newline_delimited', columns = {${columns}}, compression = 'gzip', filename = true, ${atMost(bytes)}))`;
}

/** The paths of files, for a function that reads files. */
const listOf = (files: readonly string[]) => `[${files.map((file) => literal(plainPath(file))).join(', ')}]`;

const unitFields = `{"key": "VARCHAR", "request_id": "VARCHAR", "fetched_at": "TIMESTAMP", "cost_micros": "BIGINT",
  "status": "VARCHAR", "error_tag": "VARCHAR", "http_status": "INTEGER", "source": "VARCHAR", "misread": "VARCHAR"}`;

/**
 * Relation of the unit records in files, for lines of at most `bytes` bytes. A result is cut out of its line unchanged, because DuckDB
 * would rewrite the numbers in the result. A line is skipped if it is not JSON (the torn end of a file that is being written) or has half
 * of a surrogate pair. The caller must check that no unit is missing. `random()` keeps DuckDB from parsing each result twice: DuckDB
 * repeats the expression of a column in a condition on that column, unless the expression is volatile.
 */
function unitRecords(files: readonly string[], bytes: number): string {
  const lines = `read_json_objects(${listOf(files)}, format = 'newline_delimited', compression = 'uncompressed', ignore_errors = true,
    ${atMost(bytes)})`;
  return `(SELECT fields.*, result FROM (
    SELECT fields, raw, CASE WHEN random() < 2 THEN TRY_CAST(raw AS JSON) END AS result
    FROM (SELECT from_json(left(line, mark - 1) || '}', '${unitFields}') AS fields,
        nullif(substr(line, mark + ${RESULT_MARK.length}, length(line) - mark - ${RESULT_MARK.length}), 'null') AS raw
      FROM (SELECT json::VARCHAR AS line, instr(json::VARCHAR, '${RESULT_MARK}') AS mark FROM ${lines} WHERE json IS NOT NULL)))
    WHERE result IS NOT NULL OR raw IS NULL)`;
}

const MIN_OBJECT = 65_536;
/** The longest line, in bytes, that can be read with the usual memory of a warehouse. */
const MAX_OBJECT = 16_777_216;

/**
 * The maximum size of a line, as an option of a read function. DuckDB allocates buffers of twice the maximum: its default of 16 MiB takes
 * 32 MB of new memory at every load, even for files of 3 MB. A longer line counts as unreadable.
 */
const atMost = (bytes: number) => `maximum_object_size = ${Math.max(MIN_OBJECT, Math.ceil(bytes))}`;

/** Unpacked size of a gzip file, from its last four bytes. */
async function unpackedSize(file: string): Promise<number> {
  const handle = await open(file);
  try {
    const { size } = await handle.stat();
    const end = Buffer.alloc(4);
    await handle.read(end, 0, 4, Math.max(0, size - 4));
    return end.readUInt32LE();
  } finally {
    await handle.close();
  }
}
