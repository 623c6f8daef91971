import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import type { BodyMemory } from '../../core/purchase/body-memory.js';
import type { UnitOutcome } from '../../core/purchase/journal.js';
import { makeFolder } from '../../files/make-folder.js';
import { syncFolder, withPath } from '../../files/write-durably.js';
import { encodeLine, type SegmentLine, type UnitEntry } from './segment-lines.js';
import { UNIT_END } from './unit-record.js';

/** The end of a line of the unit file, after its result. */
export const LINE_END = `${UNIT_END}\n`;

/** A unit's outcome, and its line for the unit file: the head, the result and `LINE_END`. */
export interface UnitLine {
  readonly outcome: UnitOutcome;
  readonly head: string;
  readonly result: string | Uint8Array;
  /** Length of the line. */
  readonly bytes: number;
}

/** Length of these lines in bytes. */
export const bytesOf = (units: readonly UnitLine[]): number => units.reduce((sum, { bytes }) => sum + bytes, 0);

interface Pending {
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
  readonly #memory: BodyMemory;
  #flushing: Promise<void> | null = null;

  /** `memory`: shared by the writers of a journal, because most of them are idle. */
  constructor(linesPath: string, unitsPath: string, ends: SegmentEnds, memory: BodyMemory) {
    this.#memory = memory;
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
    return new Promise((resolve, reject) => {
      this.#pending.push({ units, line, resolve, reject });
      this.#flushing ??= this.#flush().finally(() => {
        this.#flushing = null;
      });
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
    // The memory is reused, because the kernel would clear new memory of this size each time.
    const bodies = this.#memory.take(batch.reduce((sum, { units }) => sum + bytesOf(units), 0));
    try {
      return await this.#writeTo(files, batch, bodies);
    } finally {
      this.#memory.giveBack(bodies);
    }
  }

  async #writeTo(files: Files, batch: readonly Pending[], bodies: Buffer): Promise<SegmentLine[]> {
    let used = 0;
    const lines = batch.map((item) => {
      const entries = item.units.map(({ outcome, head, result, bytes: length }): UnitEntry => {
        const from = used;
        used += bodies.write(head, used);
        if (typeof result === 'string') used += bodies.write(result, used);
        else {
          bodies.set(result, used);
          used += result.length;
        }
        used += bodies.write(LINE_END, used);
        const crc = crc32(bodies.subarray(from, used));
        return [
          outcome.key,
          this.#ends.units + from,
          length,
          crc,
          outcome.status,
          outcome.errorTag,
          outcome.costMicros,
        ];
      });
      return item.line(entries);
    });
    if (used > 0) {
      await writeAll(files.units, bodies.subarray(0, used), this.#ends.units, this.#unitsPath);
    }
    const text = Buffer.from(lines.map(encodeLine).join(''));
    await writeAll(files.lines, text, this.#ends.lines, this.#linesPath);
    this.#ends = { lines: this.#ends.lines + text.length, units: this.#ends.units + used };
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

/** Writes data at a position of a file and syncs the file. Errors name the path. */
async function writeAll(file: FileHandle, data: Buffer, position: number, path: string): Promise<void> {
  try {
    for (let done = 0; done < data.length; ) {
      const { bytesWritten } = await file.write(data, done, data.length - done, position + done);
      done += bytesWritten;
    }
    await file.datasync();
  } catch (error) {
    throw withPath(error, path);
  }
}
