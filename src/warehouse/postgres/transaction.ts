import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { PgTransaction } from '../../postgres/index.js';
import type { Dialect, SqlValue, Transaction } from '../dialect.js';
import { unitFields } from '../rows/row-tables.js';
import { mendBytes, mendForPostgres } from '../shared/mend-escapes.js';
import { wholeLines } from '../shared/whole-lines.js';
import { postgresTypes } from './dialect.js';
import { stagePages } from './staged-pages.js';

/** Time limit of a statement in a transaction that changes row numbers, which takes longer than any load of a slice. */
const RENUMBER_MS = 3_600_000;

/**
 * A transaction. The lines of files are copied into temporary tables, and the server parses the lines. Integers of 64 bits come as texts, so a
 * statement casts its columns to the types of `Row`.
 */
export function transactionOf(tx: PgTransaction, dialect: Dialect): Transaction {
  const run: Transaction['run'] = async (sql, values) => {
    await tx.query(sql, values);
  };
  let hasLines = false;
  const emptied = async () => {
    await (hasLines ? tx.query('TRUNCATE file_lines') : makeFileLines(tx));
    hasLines = true;
  };
  return {
    dialect,
    run,
    async runOnMany(sql, values) {
      // New tables have no statistics, so the planner would choose a nested loop over thousands of rows.
      await tx.query('SET LOCAL enable_nestloop = off');
      await run(sql, values);
      await tx.query('SET LOCAL enable_nestloop = on');
    },
    createTemp: (name, query, values) => run(`CREATE TEMP TABLE ${name} ON COMMIT DROP AS ${query}`, values),
    rows: <Row extends object>(sql: string, values?: readonly SqlValue[]) => tx.query<Row>(sql, values),
    readPages: async (batch, work) => work(await stagePages(tx, batch)),
    async lock(lock) {
      if (lock === 'names') await tx.query('SELECT pg_advisory_xact_lock(hashtextextended(current_schema(), 3))');
      else if (lock.slice === undefined) {
        // No load of the job runs while its row numbers change.
        await tx.query(`SELECT pg_advisory_xact_lock(${ofJob})`, [lock.job]);
        await tx.allow(RENUMBER_MS);
      } else {
        // A second attempt at the slice waits, then finds the ledger line of the first. Loads of other slices are not blocked.
        const locks = `pg_advisory_xact_lock_shared(${ofJob}), pg_advisory_xact_lock(${ofSlice})`;
        await tx.query(`SELECT ${locks}`, [lock.job, lock.slice]);
      }
    },
    async readRows(files, work) {
      for (const [slice, file] of files.entries()) {
        await emptied();
        await copyLines(tx, file);
        await work(stagedRows(slice));
      }
    },
    async readUnits(files, careful, work) {
      await emptied();
      for (const file of files) await copyLines(tx, file, careful);
      await work(unitRecords);
    },
  };
}

/** Lock numbers of the job, and of a slice of the job. */
const ofJob = `hashtextextended(current_schema() || ' ' || $1, 1)`;
const ofSlice = `hashtextextended(current_schema() || ' ' || $1 || ' ' || $2::text, 2)`;

/** Bytes that are read and sent at a time. The event loop is blocked only while one such piece is processed. */
const PIECE = 262_144;

/**
 * Start of COPY's binary format: a header, then a frame for each row, then a trailer. The binary format has no escapes; escapes would
 * double the work of the server.
 */
const HEADER = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
const TRAILER = Buffer.from([0xff, 0xff]);
const TWO_FIELDS = Buffer.from([0, 2]);

/**
 * Creates the table for lines of files, once for each connection; it is emptied at the end of each transaction. `exact`: the original line, if
 * PostgreSQL's text cannot hold it unchanged. Lines are read once and dropped, so they are not compressed: compression took a third of the time
 * of a copy of pages of 2 KB.
 */
async function makeFileLines(tx: PgTransaction): Promise<void> {
  await tx.query(`CREATE TEMP TABLE IF NOT EXISTS file_lines (line json, exact text)
      WITH (toast_tuple_target = 8160) ON COMMIT DELETE ROWS;
    ALTER TABLE file_lines ALTER COLUMN line SET STORAGE EXTERNAL, ALTER COLUMN exact SET STORAGE EXTERNAL`);
}

/** Relation of the staged rows in `file_lines`. `slice`: number of their slice in its batch. */
const stagedRows = (slice: number): string =>
  `(SELECT r.*, l.exact AS row_exact, ${slice} AS slice FROM file_lines l
    CROSS JOIN LATERAL json_to_record(l.line) AS r(n bigint, h text, k text, u text, e text, m text, d boolean, i text[]))`;

const unitRecords = `(SELECT r.*, l.exact FROM file_lines l
  CROSS JOIN LATERAL json_to_record(l.line) AS r(${unitFields.map(([name, type]) => `${name} ${postgresTypes[type]}`).join(', ')}, result json))`;

/**
 * Copies the lines of a file (`.gz`: unpacked) into `file_lines`; the server parses the lines. A line with an escape that PostgreSQL's
 * text cannot hold is repaired; the original line is kept in `exact`. Text after the last line feed is left out, because it is the torn end
 * of a file that is being written. With `careful`, every line that is not JSON is left out, too.
 */
async function copyLines(tx: PgTransaction, file: string, careful = false): Promise<void> {
  const { from } = await import('pg-copy-streams');
  const source = createReadStream(file, { highWaterMark: PIECE });
  const framed = (chunks: AsyncIterable<Buffer>) => frames(chunks, careful);
  const copy = tx.client.query(from('COPY file_lines FROM STDIN (FORMAT binary)', { highWaterMark: PIECE }));
  // A broken connection may emit a second error, when no handler is left.
  copy.on('error', () => undefined);
  try {
    if (file.endsWith('.gz')) await pipeline(source, createGunzip({ chunkSize: PIECE }), framed, copy);
    else await pipeline(source, framed, copy);
  } catch (error) {
    const { path, message } = error as NodeJS.ErrnoException;
    // The new error has no `code`, because the code of a system error would have another meaning in an error of a database.
    throw path === file ? new Error(message, { cause: error }) : error;
  }
}

async function* frames(chunks: AsyncIterable<Buffer>, careful: boolean): AsyncGenerator<Buffer> {
  yield HEADER;
  for await (const lines of wholeLines(chunks)) if (lines.at(-1) === 10) yield framesOf(lines, careful);
  yield TRAILER;
}

/** The frames of lines: the number of fields, then the length of each field in bytes, then the field. NULL has the length -1. */
function framesOf(lines: Buffer, careful: boolean): Buffer {
  const parts: Buffer[] = [];
  const add = (field: Buffer | null) => {
    const length = Buffer.allocUnsafe(4);
    length.writeInt32BE(field?.length ?? -1);
    parts.push(length);
    if (field !== null) parts.push(field);
  };
  for (let from = 0; from < lines.length; ) {
    const end = lines.indexOf(10, from);
    const line = lines.subarray(from, end);
    from = end + 1;
    if (careful && !isObject(line)) continue;
    const mended = mendBytes(line, mendForPostgres);
    parts.push(TWO_FIELDS);
    add(mended);
    add(mended === line ? null : line);
  }
  return Buffer.concat(parts);
}

function isObject(line: Buffer): boolean {
  try {
    const value: unknown = JSON.parse(line.toString());
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
