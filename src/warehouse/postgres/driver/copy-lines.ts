import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { PgTransaction } from '../../../postgres/index.js';
import { mayHoldHalves, mendForPostgres } from '../../shared/mend-escapes.js';

/** Bytes that are read and sent at a time. The event loop is blocked only while one such piece is processed. */
const PIECE = 262_144;

/**
 * Start of COPY's binary format: a header, then a frame for each row, then a trailer. The binary format has no escapes; escapes would
 * double the work of the server.
 */
const HEADER = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
const TRAILER = Buffer.from([0xff, 0xff]);
/** Number of fields (one), then the length of the field in bytes. */
const FRAME = 6;

/**
 * Creates the tables for lines of files, once for each connection; the tables are emptied at the end of each transaction. Lines are read once
 * and dropped, so they are not compressed: compression took a third of the time of a copy of pages of 2 KB.
 */
export async function makeLineTables(tx: PgTransaction): Promise<void> {
  for (const table of ['row_lines', 'unit_lines'])
    await tx.query(`CREATE TEMP TABLE IF NOT EXISTS ${table} (line json) WITH (toast_tuple_target = 8160) ON COMMIT DELETE ROWS;
      ALTER TABLE ${table} ALTER COLUMN line SET STORAGE EXTERNAL`);
}

/**
 * Copies the lines of a file (`.gz`: unpacked) unchanged into a table of lines; the server parses the lines. A line with an escape that
 * PostgreSQL's text cannot hold is repaired, and gets a field `exact` with the original line as text. Text after the last line feed is left
 * out, because it is the torn end of a file that is being written. With `careful`, every line that is not JSON is left out, too.
 */
export async function copyLines(
  tx: PgTransaction,
  table: 'row_lines' | 'unit_lines',
  file: string,
  careful = false,
): Promise<void> {
  const { from } = await import('pg-copy-streams');
  const source = createReadStream(file, { highWaterMark: PIECE });
  const framed = (chunks: AsyncIterable<Buffer>) => frames(chunks, careful);
  const copy = tx.client.query(from(`COPY ${table} FROM STDIN (FORMAT binary)`, { highWaterMark: PIECE }));
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
  let rest: Buffer[] = [];
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf(10) + 1;
    const piece = end === 0 ? null : Buffer.concat([...rest, chunk.subarray(0, end)]);
    rest = piece === null ? [...rest, chunk] : [chunk.subarray(end)];
    if (piece !== null)
      yield frame(
        careful || mayHoldHalves(piece) || piece.includes('\\u0000')
          ? Buffer.from(mended(piece.toString(), careful))
          : piece,
      );
  }
  yield TRAILER;
}

/** Frames whole lines: the length of each, then the line without its line feed. */
function frame(lines: Buffer): Buffer {
  let count = 0;
  for (let at = lines.indexOf(10); at >= 0; at = lines.indexOf(10, at + 1)) count++;
  const framed = Buffer.allocUnsafe(lines.length + count * (FRAME - 1));
  let to = 0;
  for (let from = 0; from < lines.length; ) {
    const end = lines.indexOf(10, from);
    framed.writeInt16BE(1, to);
    framed.writeInt32BE(end - from, to + 2);
    lines.copy(framed, to + FRAME, from, end);
    to += FRAME + end - from;
    from = end + 1;
  }
  return framed;
}

function mended(text: string, careful: boolean): string {
  const lines = text.split('\n').slice(0, -1);
  return (careful ? lines.filter(isObject) : lines)
    .map((line) => {
      const better = mendForPostgres(line);
      return better === line ? `${line}\n` : `${better.slice(0, -1)},"exact":${JSON.stringify(line)}}\n`;
    })
    .join('');
}

function isObject(line: string): boolean {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
