import { createReadStream } from 'node:fs';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DuckDBConnection, DuckDBPreparedStatement } from '@duckdb/node-api';
import { RESULT_MARK } from '../../core/purchase/journal.js';
import type { SqlValue, Transaction } from '../dialect.js';
import { unitFields } from '../rows/row-tables.js';
import { literal, plainPath } from '../shared/duckdb-quote.js';
import { loadDuckDb } from '../shared/load-duckdb.js';
import { mendBytes, mendSurrogates } from '../shared/mend-escapes.js';
import { withTemporaryFolder } from '../shared/scratch-duckdb.js';
import { wholeLines } from '../shared/whole-lines.js';
import { duckDbDialect } from './dialect.js';
import { readPages } from './staged-pages.js';

/** A transaction over a connection. Large integers come as `bigint`, so a statement casts its columns to the types of `Row`. */
export function transactionOf(connection: DuckDBConnection): Transaction {
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
    async readRows(files, work) {
      if (files.length > 0) await work(stagedRows(files));
    },
    async readUnits(files, careful, work) {
      if (files.length === 0) return;
      await withPartFiles(files, careful, async (parts) => {
        if (!careful) return work(unitRecords(parts));
        // A statement for each part takes little memory, and a third more time.
        for (const part of parts) await work(unitRecords([part], (await stat(part)).size));
      });
    },
    readPages,
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

/** Relation of the staged rows of files, see `Transaction.readRows`. DuckDB parses only the fields that a statement names. */
function stagedRows(files: readonly string[]): string {
  const slice = files.length === 1 ? '0' : `list_position([${files.map(literal).join(', ')}], filename) - 1`;
  return `(SELECT * EXCLUDE (filename), CAST(${slice} AS INTEGER) AS slice FROM read_json(${listOf(files)},
    format = 'newline_delimited', compression = 'gzip', filename = true, columns = {n: 'BIGINT', h: 'VARCHAR', k: 'VARCHAR', e: 'VARCHAR',
      m: 'VARCHAR', u: 'VARCHAR', d: 'BOOLEAN', i: 'VARCHAR[]'}))`;
}

const listOf = (files: readonly string[]) => `[${files.map((file) => literal(plainPath(file))).join(', ')}]`;

const unitTypes = JSON.stringify(
  Object.fromEntries(unitFields.map(([name, type]) => [name, duckDbDialect.types[type]])),
);

/**
 * Relation of the unit records in files. `longest`: the most bytes of a line, if a line may have more than usual. A result is cut out of its
 * line unchanged, because DuckDB would rewrite its numbers. A line is skipped if it is not JSON (the torn end of a file that is being
 * written) or has half of a surrogate pair. The caller must check that no unit is missing. `random()` keeps DuckDB from parsing each result
 * twice: DuckDB repeats the expression of a column in a condition on that column, unless the expression is volatile.
 */
function unitRecords(files: readonly string[], longest = 0): string {
  const lines = `read_json_objects(${listOf(files)}, format = 'newline_delimited', compression = 'uncompressed', ignore_errors = true,
    maximum_object_size = ${Math.max(MAX_OBJECT, longest)})`;
  return `(SELECT fields.*, result FROM (
    SELECT fields, raw, CASE WHEN random() < 2 THEN TRY_CAST(raw AS JSON) END AS result
    FROM (SELECT from_json(left(line, mark - 1) || '}', '${unitTypes}') AS fields,
        nullif(substr(line, mark + ${RESULT_MARK.length}, length(line) - mark - ${RESULT_MARK.length}), 'null') AS raw
      FROM (SELECT json::VARCHAR AS line, instr(json::VARCHAR, '${RESULT_MARK}') AS mark FROM ${lines} WHERE json IS NOT NULL)))
    WHERE result IS NOT NULL OR raw IS NULL)`;
}

/** The longest line, in bytes, that DuckDB reads by default. A longer line counts as unreadable. */
const MAX_OBJECT = 16_777_216;

/**
 * Bytes of one part. DuckDB reads up to 2,048 lines of a file at once, and each function of a statement copies them, some four times. So
 * lines of some kilobytes would take more memory than a warehouse has. DuckDB never reads lines of two files at once.
 */
const PART_BYTES = 2_097_152;
/** Files up to this size are read as they are. */
const SMALL_BYTES = 4_194_304;

/**
 * Runs `work` with files that together have the lines of `files`, in the same order, and removes the copies. Large files are replaced by
 * copies of their parts, which are cut between lines. With `mends`, all files are, and the lines that DuckDB cannot hold are repaired.
 */
export async function withPartFiles<T>(
  files: readonly string[],
  mends: boolean,
  work: (parts: readonly string[]) => Promise<T>,
): Promise<T> {
  const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size));
  const isKept = (size = 0) => !mends && size <= SMALL_BYTES;
  if (sizes.every(isKept)) return work(files);
  return withTemporaryFolder(async (dir) => {
    const parts: string[] = [];
    for (const [index, file] of files.entries()) {
      if (isKept(sizes[index])) parts.push(file);
      else
        for await (const part of wholeLines(createReadStream(file, { highWaterMark: PART_BYTES }))) {
          const path = join(dir, `${parts.length}.jsonl`);
          await writeFile(path, mends ? mendBytes(part, mendSurrogates) : part, { mode: 0o600 });
          parts.push(path);
        }
    }
    return work(parts);
  });
}
