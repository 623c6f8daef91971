import { createHash, type Hash } from 'node:crypto';
import type { Stats } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { addAbortSignal, pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { CsvError, InputUnsteady } from './csv-error.js';

const CHUNK = 256 * 1024;

/** The path of a file, or a stream such as standard input. */
export type RowSource = string | Readable;

/**
 * Opens the input. Throws `CsvError` if the input is missing, unreadable or a directory. `chunks` throws `CsvError` for damaged gzip, and
 * at the end for a file that changed while it was read. An abort of the signal ends the reading of a stream.
 */
export async function openSource(source: RowSource, signal?: AbortSignal) {
  const file = typeof source === 'string' ? await openFile(source) : null;
  const name = typeof source === 'string' ? source : 'The input';
  const before = file ? await file.stat() : null;
  const size = before?.isFile() ? before.size : null;
  const hash = createHash('sha256');
  const counter = { bytes: 0 };
  const raw = file ? fileChunks(file, name, counter) : streamChunks(source as Readable, counter, signal);
  return {
    /** Returns the bytes of the text. Gzip is decompressed; gzip is detected by content and not by name. */
    chunks: async function* (): AsyncGenerator<Buffer> {
      yield* hashed(await unpacked(raw, name), hash);
      if (file && size !== null) checkUnchanged(before as Stats, await file.stat(), counter.bytes, name);
    },
    /** Returns the hex SHA-256 of the decompressed bytes read so far. */
    contentHash: () => hash.copy().digest('hex'),
    /** Returns the number of stored (compressed) bytes read so far and in total. The total is `null` if unknown. */
    progress: () => ({ bytes: counter.bytes, total: size }),
    close: async () => {
      await file?.close();
    },
  };
}

async function openFile(path: string): Promise<FileHandle> {
  try {
    const file = await open(path, 'r');
    if ((await file.stat()).isDirectory()) {
      await file.close();
      throw new CsvError('input-unreadable', `${path} is a directory, not a file of rows`);
    }
    return file;
  } catch (error) {
    if (error instanceof CsvError) throw error;
    throw ioError(error, path);
  }
}

/** System errors about the file itself, which a person must fix. Other errors may pass. */
const ofFile: readonly unknown[] = ['ENOENT', 'EACCES', 'EPERM', 'EISDIR', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'ENXIO'];

export function ioError(error: unknown, name: string, where = ''): CsvError {
  const { code } = error as NodeJS.ErrnoException;
  const message = `${name} ${ioProblem(code, error)}${where}`;
  return ofFile.includes(code)
    ? new CsvError(code === 'ENOENT' ? 'input-missing' : 'input-unreadable', message)
    : new InputUnsteady('input-unreadable', message);
}

function ioProblem(code: string | undefined, error: unknown): string {
  if (code === 'ENOENT') return 'does not exist';
  if (code === 'EACCES' || code === 'EPERM') return 'cannot be read by this user (permission denied)';
  if (code === 'EMFILE' || code === 'ENFILE') return 'could not be opened: too many files are open';
  return `could not be read (${code ?? String(error)})`;
}

async function* fileChunks(file: FileHandle, name: string, counter: { bytes: number }): AsyncGenerator<Buffer> {
  for (;;) {
    const piece = await file.read(Buffer.allocUnsafe(CHUNK), 0, CHUNK, null).catch((error: unknown) => {
      throw ioError(error, name, ` at byte ${counter.bytes}`);
    });
    if (piece.bytesRead === 0) return;
    counter.bytes += piece.bytesRead;
    yield piece.buffer.subarray(0, piece.bytesRead);
  }
}

async function* streamChunks(
  stream: Readable,
  counter: { bytes: number },
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer> {
  if (signal !== undefined) addAbortSignal(signal, stream);
  for await (const piece of stream) {
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : (piece as Buffer);
    counter.bytes += bytes.length;
    yield bytes;
  }
}

async function unpacked(raw: AsyncGenerator<Buffer>, name: string): Promise<AsyncIterable<Buffer>> {
  const first: Buffer[] = [];
  let length = 0;
  while (length < 2) {
    const next = await raw.next();
    if (next.done) break;
    first.push(next.value);
    length += next.value.length;
  }
  const all = chain(first, raw);
  const head = Buffer.concat(first.map((piece) => piece.subarray(0, 2)));
  return head[0] === 0x1f && head[1] === 0x8b ? gunzipped(all, name) : all;
}

async function* chain(first: readonly Buffer[], rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  yield* first;
  yield* rest;
}

async function* gunzipped(packed: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer> {
  let failure: unknown;
  const gunzip = pipeline(Readable.from(packed, { objectMode: false }), createGunzip({ chunkSize: CHUNK }), (error) => {
    failure = error;
  });
  try {
    for await (const piece of gunzip) yield piece as Buffer;
  } catch (error) {
    const cause = failure ?? error;
    if (cause instanceof CsvError) throw cause;
    const code = (cause as NodeJS.ErrnoException).code;
    if (code === 'Z_BUF_ERROR')
      throw new CsvError('input-damaged', `${name} is truncated: its gzip data ends in the middle`);
    if (code?.startsWith('Z_'))
      throw new CsvError('input-damaged', `${name} is damaged: its gzip data cannot be decompressed (${code})`);
    throw cause;
  }
}

async function* hashed(chunks: AsyncIterable<Buffer>, hash: Hash): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    hash.update(chunk);
    yield chunk;
  }
}

function checkUnchanged(before: Stats, after: Stats, read: number, name: string): void {
  if (before.size === after.size && before.mtimeMs === after.mtimeMs && read === after.size) return;
  throw new InputUnsteady('input-changed', `${name} changed while it was read; try again once it is complete`);
}
