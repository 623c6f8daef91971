import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { makeFolder } from '../../files/make-folder.js';
import { syncFolder, withPath } from '../../files/write-durably.js';
import { encodeLine, LINE_END, type SegmentLine, type UnitEntry, type UnitLine } from './unit-record.js';

export interface Pending {
  readonly units: readonly UnitLine[];
  readonly line: (entries: readonly UnitEntry[]) => SegmentLine;
  readonly resolve: (line: SegmentLine) => void;
  readonly reject: (error: unknown) => void;
}

interface Files {
  readonly lines: FileHandle;
  readonly units: FileHandle;
}

/** Lengths in bytes of the complete contents of a segment's two files. */
export interface SegmentEnds {
  readonly lines: number;
  readonly units: number;
}

/**
 * Appends to one segment: bodies to the unit file, then the line that names the bodies. Waiting appends are written together, so that many
 * requests share one sync to disk. An append resolves when it is durable.
 */
export class SegmentWriter {
  readonly #linesPath: string;
  readonly #unitsPath: string;
  #ends: SegmentEnds;
  #files: Files | null = null;
  #pending: Pending[] = [];
  #flushing: Promise<void> | null = null;

  constructor(linesPath: string, unitsPath: string, ends: SegmentEnds) {
    this.#linesPath = linesPath;
    this.#unitsPath = unitsPath;
    this.#ends = ends;
  }

  /** Lengths of the files; final once the writer is closed. */
  get ends(): SegmentEnds {
    return this.#ends;
  }

  get idle(): boolean {
    return this.#flushing === null;
  }

  append(units: readonly UnitLine[], line: Pending['line']): Promise<SegmentLine> {
    return new Promise((resolve, reject) => this.#add({ units, line, resolve, reject }));
  }

  #add(pending: Pending): void {
    this.#pending.push(pending);
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = null;
    });
  }

  async close(): Promise<void> {
    await this.#flushing;
    const files = this.#files;
    this.#files = null;
    await Promise.all([files?.lines.close(), files?.units.close()]);
  }

  async #flush(): Promise<void> {
    // Waits one turn of the event loop, so that requests that were answered together are written together.
    await new Promise(setImmediate);
    while (this.#pending.length > 0) {
      const batch = this.#pending;
      this.#pending = [];
      try {
        const lines = await this.#write(batch);
        for (const [index, item] of batch.entries()) item.resolve(lines[index] as SegmentLine);
      } catch (error) {
        // A failed write may leave incomplete contents, which are cut off when the files are opened again.
        const files = this.#files;
        this.#files = null;
        await Promise.allSettled([files?.lines.close(), files?.units.close()]);
        for (const item of batch) item.reject(error);
      }
    }
  }

  async #write(batch: readonly Pending[]): Promise<SegmentLine[]> {
    this.#files ??= await this.#open();
    const files = this.#files;
    let end = this.#ends.units;
    const pieces: Uint8Array[] = [];
    const lines = batch.map(({ units, line }) =>
      line(
        units.map(({ outcome: { key, status, errorTag, costMicros }, head, result, bytes }): UnitEntry => {
          const offset = end;
          end += bytes;
          const parts = [Buffer.from(head), typeof result === 'string' ? Buffer.from(result) : result, LINE_END];
          pieces.push(...parts);
          return [key, offset, bytes, parts.reduce((crc, part) => crc32(part, crc), 0), status, errorTag, costMicros];
        }),
      ),
    );
    if (pieces.length > 0) await writeAll(files.units, [Buffer.concat(pieces)], this.#ends.units, this.#unitsPath);
    const text = Buffer.from(lines.map(encodeLine).join(''));
    await writeAll(files.lines, [text], this.#ends.lines, this.#linesPath);
    this.#ends = { lines: this.#ends.lines + text.length, units: end };
    return lines;
  }

  /** Opens both files and cuts off incomplete contents of a killed process. */
  async #open(): Promise<Files> {
    makeFolder(dirname(this.#linesPath));
    const lines = await openForWriting(this.#linesPath);
    let units: FileHandle | null = null;
    try {
      units = await openForWriting(this.#unitsPath);
      await lines.truncate(this.#ends.lines);
      await units.truncate(this.#ends.units);
      // A killed process may have created the files, and not synced their folder.
      await syncFolder(dirname(this.#linesPath));
      return { lines, units };
    } catch (error) {
      await Promise.allSettled([lines.close(), units?.close()]);
      throw error;
    }
  }
}

async function openForWriting(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'r+');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return open(path, 'wx+', 0o600);
  }
}

/** Writes pieces at a position of a file, one after the other, and syncs the file. Errors name the path. */
export async function writeAll(
  file: FileHandle,
  pieces: readonly Buffer[],
  position: number,
  path: string,
): Promise<void> {
  try {
    let at = position;
    for (let rest = pieces; rest.length > 0; ) {
      const { bytesWritten } = await file.writev(rest, at);
      at += bytesWritten;
      rest = without(rest, bytesWritten);
    }
    await file.datasync();
  } catch (error) {
    throw withPath(error, path);
  }
}

function without(pieces: readonly Buffer[], bytes: number): readonly Buffer[] {
  let left = bytes;
  let done = 0;
  for (; done < pieces.length && left >= (pieces[done] as Buffer).length; done++)
    left -= (pieces[done] as Buffer).length;
  const [first, ...rest] = pieces.slice(done);
  return first === undefined ? [] : [first.subarray(left), ...rest];
}
