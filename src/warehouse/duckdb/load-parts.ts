import { createReadStream, createWriteStream } from 'node:fs';
import { open, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { RetryFreshness } from '../../core/purchase/freshness.js';
import { RESULT_MARK, type UnitRecord } from '../../core/purchase/journal.js';
import type { LoadBatch, RetryBatch } from '../../core/rows/row-warehouse.js';
import { TooMuchAtOnce } from '../../core/rows/warehouse-errors.js';
import {
  finishSlice,
  type Loaded,
  loadSlice,
  makePending,
  type PendingRow,
  type RowRange,
  unitsMissing,
} from '../rows/load-slice.js';
import { loadRetry, pendingRetry } from '../rows/retry.js';
import type { RowTransaction } from '../rows/row-sql.js';
import { literal, plainPath } from '../shared/duckdb-quote.js';
import { mendSurrogates } from '../shared/mend-escapes.js';
import { withTemporaryFolder } from '../shared/temporary-folder.js';
import { withPartFiles } from './part-files.js';
import { duckDbRowDialect } from './row-dialect.js';
import { sqlTransaction } from './sql-transaction.js';
import { USUAL, type Warehouse } from './warehouse.js';

/**
 * Bytes of answers in one part of a slice. A slice is loaded in parts if the load of the whole slice needs more memory than the warehouse
 * has. An answer above this size is a part of its own.
 */
const PART_BYTES = 2_097_152;
/**
 * Bytes of memory that a load needs for each byte of its answers, in addition to the usual memory: buffers of the reader, and copies of
 * values.
 */
const MEMORY_FACTOR = 60;

interface Line {
  readonly file: string;
  readonly offset: number;
  readonly length: number;
  readonly fetchedAt: string;
}

interface Part {
  readonly from: number;
  to: number;
  bytes: number;
  readonly keys: Set<string>;
}

/**
 * Runs `RowLoads.load`: loads a whole slice in one transaction. If the transaction needs too much memory, or if a line may be longer
 * than the reader's limit, loads the slice in parts.
 */
export async function loadWholeOrInParts(
  warehouse: Warehouse,
  batch: LoadBatch,
  freshness: RetryFreshness | undefined,
): Promise<Loaded> {
  return wholeOrInParts(warehouse, batch.unitFiles, {
    whole: (tx) => loadSlice(tx, batch, freshness),
    inParts: () => inParts(warehouse, batch, freshness),
  });
}

/** Runs `RowLoads.loadRetry` in the same way. */
export async function loadRetryWholeOrInParts(
  warehouse: Warehouse,
  batch: RetryBatch,
): Promise<{ readonly rows: number }> {
  const { job, unitFiles, keys } = batch;
  return wholeOrInParts(warehouse, unitFiles, {
    whole: (tx) => loadRetry(tx, batch),
    async inParts() {
      let rows = 0;
      const pending = (tx: RowTransaction) => pendingRetry(tx, job, keys);
      await eachPart(warehouse, { job, slice: 0, unitFiles }, pending, async (tx, part, file) => {
        rows += (await loadRetry(tx, { ...batch, unitFiles: [file], keys: [...part.keys] })).rows;
      });
      return { rows };
    },
  });
}

async function wholeOrInParts<T>(
  warehouse: Warehouse,
  unitFiles: readonly string[],
  load: { whole(tx: RowTransaction): Promise<T>; inParts(): Promise<T> },
): Promise<T> {
  try {
    return await warehouse.transaction((connection) => load.whole(rowTransaction(connection)));
  } catch (error) {
    const parts = error instanceof TooMuchAtOnce || (await largest(unitFiles)) > MAX_OBJECT;
    if (!parts) throw error;
    return load.inParts();
  }
}

/**
 * Calls `load` for each part of the rows that `pending` returns, in a transaction with enough memory. `file`: the answers of the part.
 */
async function eachPart(
  warehouse: Warehouse,
  batch: Pick<LoadBatch, 'job' | 'slice' | 'unitFiles'>,
  pending: (tx: RowTransaction) => Promise<readonly PendingRow[]>,
  load: (tx: RowTransaction, part: Part, file: string) => Promise<void>,
): Promise<void> {
  const lines = await newestLines(batch.unitFiles);
  const rows = await warehouse.transaction((connection) => pending(rowTransaction(connection)));
  await withTemporaryFolder(async (dir) => {
    for (const part of cut(rows, lines, batch)) {
      const file = join(dir, 'part.jsonl');
      await writeLines(
        file,
        [...part.keys].map((key) => lines.get(key) as Line),
      );
      const memory = USUAL.memory + Math.ceil((part.bytes * MEMORY_FACTOR) / 1e6);
      await warehouse.transaction(
        (connection) => load(rowTransaction(connection, Number.POSITIVE_INFINITY), part, file),
        { memory },
      );
    }
  });
}

/** Loads each part in a transaction with a ledger line of its own. Rows that an earlier attempt has loaded are left out. */
async function inParts(warehouse: Warehouse, batch: LoadBatch, freshness: RetryFreshness | undefined): Promise<Loaded> {
  const pending = (tx: RowTransaction) => pendingRows(tx, batch, freshness);
  await eachPart(warehouse, batch, pending, (tx, part, file) =>
    loadPart(tx, { ...batch, unitFiles: [file] }, freshness, part),
  );
  return warehouse.transaction(async (connection) => {
    const tx = rowTransaction(connection);
    await tx.run('DELETE FROM load_parts WHERE job = $1 AND slice = $2', [batch.job, batch.slice]);
    return finishSlice(tx, batch, freshness);
  });
}

async function loadPart(
  tx: RowTransaction,
  batch: LoadBatch,
  freshness: RetryFreshness | undefined,
  part: RowRange,
): Promise<void> {
  const { job, generation, slice, attempt } = batch;
  const { rows, already } = await loadSlice(tx, batch, freshness, part);
  if (already) return;
  await tx.run(`INSERT INTO load_parts VALUES ($1, $2, $3, $4, $5, $6, $7, ${tx.dialect.now()})`, [
    ...[job, generation, slice, part.from, part.to],
    ...[rows, attempt],
  ]);
}

async function pendingRows(
  tx: RowTransaction,
  { job, rowsFile }: LoadBatch,
  freshness: RetryFreshness | undefined,
): Promise<readonly PendingRow[]> {
  const { table } = await makePending(tx, { job, rowsFile, cells: false }, freshness);
  return tx.rows<PendingRow>(`SELECT CAST(n AS DOUBLE) AS n, k FROM ${table} ORDER BY n`);
}

function cut(
  rows: readonly PendingRow[],
  lines: ReadonlyMap<string, Line>,
  batch: Pick<LoadBatch, 'job' | 'slice' | 'unitFiles'>,
): readonly Part[] {
  const parts: Part[] = [];
  for (const { n, k } of rows) {
    const line = k === null ? null : lines.get(k);
    if (line === undefined) throw unitsMissing(batch);
    const bytes = line?.length ?? 0;
    let part = parts.at(-1);
    if (!part || part.bytes + bytes > PART_BYTES) {
      part = { from: n, to: n, bytes: 0, keys: new Set() };
      parts.push(part);
    }
    part.to = n;
    part.bytes += bytes;
    if (k !== null) part.keys.add(k);
  }
  return parts;
}

/** Position of the newest record of each unit. A line that is not JSON is skipped. */
async function newestLines(files: readonly string[]): Promise<ReadonlyMap<string, Line>> {
  const lines = new Map<string, Line>();
  for (const file of files) {
    let offset = 0;
    let rest: Buffer[] = [];
    const take = (end: Buffer) => {
      const text = Buffer.concat([...rest, end]);
      rest = [];
      const record = asRecord(text);
      const known = record && lines.get(record.key);
      if (record && !(known && known.fetchedAt > record.fetched_at))
        lines.set(record.key, { file, offset, length: text.length, fetchedAt: record.fetched_at });
      offset += text.length;
    };
    for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
      let from = 0;
      for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
        take(chunk.subarray(from, end + 1));
        from = end + 1;
      }
      rest.push(chunk.subarray(from));
    }
  }
  return lines;
}

function asRecord(line: Buffer): UnitRecord | null {
  try {
    return JSON.parse(line.toString('utf8')) as UnitRecord;
  } catch {
    return null;
  }
}

async function writeLines(file: string, lines: readonly Line[]): Promise<void> {
  const texts: Buffer[] = [];
  for (const from of new Set(lines.map((line) => line.file))) {
    const handle = await open(from);
    try {
      for (const { offset, length } of lines.filter((line) => line.file === from)) {
        const text = Buffer.alloc(length);
        await handle.read(text, 0, length, offset);
        texts.push(text);
      }
    } finally {
      await handle.close();
    }
  }
  await writeFile(file, texts, { mode: 0o600 });
}

/** A transaction for rows over a connection. `longest`: the longest line of a unit file that can be read, in bytes. */
export function rowTransaction(connection: DuckDBConnection, longest = MAX_OBJECT): RowTransaction {
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
      if (files.length === 0) return false;
      const read = async (from: readonly string[]) => work(unitRecords(from, Math.min(longest, await largest(from))));
      return (careful ? withMendedFiles : withPartFiles)(files, read);
    },
  };
}

/** Runs `work` with repaired copies of files of JSON lines, and removes the copies. */
async function withMendedFiles<T>(
  files: readonly string[],
  work: (copies: readonly string[]) => Promise<T>,
): Promise<T> {
  return withTemporaryFolder(async (dir) => {
    const copies = files.map((_, index) => join(dir, `${index}.jsonl`));
    for (const [index, file] of files.entries()) {
      await pipeline(
        createReadStream(file, 'utf8'),
        mended,
        createWriteStream(copies[index] as string, { mode: 0o600 }),
      );
    }
    return work(copies);
  });
}

async function* mended(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of chunks) {
    const text = rest + chunk;
    // Only whole lines are repaired, so that no escape is split.
    const end = text.lastIndexOf('\n') + 1;
    rest = text.slice(end);
    yield mendSurrogates(text.slice(0, end));
  }
  yield mendSurrogates(rest);
}

const rowFields = { n: 'BIGINT', h: 'VARCHAR', k: 'VARCHAR', e: 'VARCHAR', m: 'VARCHAR' };
const cellFields = { u: 'VARCHAR', d: 'BOOLEAN', i: 'VARCHAR[]' };

/** Relation of the staged rows of files, for lines of at most `bytes` bytes; see `RowTransaction.readRows`. */
export function stagedRows(files: readonly string[], cells: boolean, bytes: number): string {
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
export function unitRecords(files: readonly string[], bytes: number): string {
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
export const MAX_OBJECT = 16_777_216;

/**
 * The maximum size of a line, as an option of a read function. DuckDB allocates buffers of twice the maximum: its default of 16 MiB takes
 * 32 MB of new memory at every load, even for files of 3 MB. A longer line counts as unreadable.
 */
const atMost = (bytes: number) => `maximum_object_size = ${Math.max(MIN_OBJECT, Math.ceil(bytes))}`;

/** Size in bytes of the largest file. No line is longer than its file. */
export async function largest(files: readonly string[]): Promise<number> {
  return Math.max(0, ...(await Promise.all(files.map(async (file) => (await stat(file)).size))));
}

/** Unpacked size of a gzip file, from its last four bytes. */
export async function unpackedSize(file: string): Promise<number> {
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
