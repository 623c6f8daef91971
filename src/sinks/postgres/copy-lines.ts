import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { PgTransaction } from '../../postgres/index.js';
import { mendForPostgres } from '../mend-escapes.js';

/** Bytes read and sent at a time: the loop is never held for longer than these take. */
const PIECE = 262_144;

/** Bytes that no JSON text holds, so that a line is one value whatever is in it. */
const RAW = `(FORMAT csv, DELIMITER E'\\x02', QUOTE E'\\x01')`;

/**
 * Fills the temporary table `table` with the lines of a file (`.gz`: unpacked), each as it stands: parsing is the server's work. A
 * line with an escape that PostgreSQL's text can't hold is mended, and gets a field `exact`: the line as it was, as text. What
 * follows the last line feed is the torn end of a file that is being written, and left out; so is, with `careful`, every line
 * that is no JSON.
 */
export async function copyLines(
  tx: PgTransaction,
  table: 'row_lines' | 'unit_lines',
  file: string,
  careful = false,
): Promise<void> {
  const { from } = await import('pg-copy-streams');
  const source = createReadStream(file, { highWaterMark: PIECE });
  const lines = (chunks: AsyncIterable<Buffer>) => wholeLines(chunks, careful);
  const copy = tx.client.query(from(`COPY ${table} (line) FROM STDIN ${RAW}`, { highWaterMark: PIECE }));
  try {
    if (file.endsWith('.gz')) await pipeline(source, createGunzip({ chunkSize: PIECE }), lines, copy);
    else await pipeline(source, lines, copy);
  } catch (error) {
    const { path, message } = error as NodeJS.ErrnoException;
    // Without its code, which means something else in a conversation with a database.
    throw path === file ? new Error(message, { cause: error }) : error;
  }
}

async function* wholeLines(chunks: AsyncIterable<Buffer>, careful: boolean): AsyncGenerator<Buffer | string> {
  let rest: Buffer[] = [];
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf(10) + 1;
    const piece = end === 0 ? null : Buffer.concat([...rest, chunk.subarray(0, end)]);
    rest = piece === null ? [...rest, chunk] : [chunk.subarray(end)];
    if (piece !== null) yield careful || isOdd(piece) ? mended(piece.toString(), careful) : piece;
  }
}

/** Whether there may be an escape to mend. Pairs of surrogates are hardly ever written as escapes. */
function isOdd(piece: Buffer): boolean {
  return piece.includes('\\u0000') || piece.includes('\\ud') || piece.includes('\\uD');
}

function mended(text: string, careful: boolean): string {
  const lines = text.split('\n').slice(0, -1);
  return (careful ? lines.filter(isObject).map((line) => line.replaceAll('\r', ' ')) : lines)
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
