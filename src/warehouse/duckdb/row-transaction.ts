import { open, stat } from 'node:fs/promises';
import type { DuckDBConnection } from '@duckdb/node-api';
import { RESULT_MARK } from '../../core/purchase/journal.js';
import type { RowTransaction } from '../rows/row-sql.js';
import { literal, plainPath } from '../shared/duckdb-quote.js';
import { withPartFiles } from './part-files.js';
import { duckDbRowDialect } from './row-dialect.js';
import { sqlTransaction } from './sql-transaction.js';
import { USUAL } from './warehouse.js';

/** Bytes of memory for each byte of the longest line, in addition to the usual memory: buffers of the reader, and copies of values. */
const MEMORY_FACTOR = 60;

/** Memory in MB for files whose longest line has so many bytes. All other lines take no more: files are read in parts. */
export const memoryFor = (longest: number): number => USUAL.memory + Math.ceil((longest * MEMORY_FACTOR) / 1e6);

/** A transaction for rows over a connection. `longest`: bytes of the longest line of its unit files, if known. */
export function rowTransaction(connection: DuckDBConnection, longest = 0): RowTransaction {
  return {
    ...sqlTransaction(connection, duckDbRowDialect),
    // Transactions that write rows run one at a time, see `Warehouse.use`.
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
  };
}

const rowFields = { n: 'BIGINT', h: 'VARCHAR', k: 'VARCHAR', e: 'VARCHAR', m: 'VARCHAR' };
const cellFields = { u: 'VARCHAR', d: 'BOOLEAN', i: 'VARCHAR[]' };

/** Relation of the staged rows of files, for lines of at most `bytes` bytes; see `RowTransaction.readRows`. */
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
