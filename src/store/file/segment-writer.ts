import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import type { BodyMemory } from '../../core/purchase/body-memory.js';
import { makeFolder } from '../../files/make-folder.js';
import { syncFolder, withPath } from '../../files/write-durably.js';
import { encodeLine, type SegmentLine, type UnitEntry } from './segment-lines.js';
import { bytesOf, LINE_END, type UnitLine } from './unit-record.js';

type Entry = [...UnitEntry];

/** Lines of one append, in memory that is given back once they are written. The offsets of the entries begin at the start of the lines. */
interface Packed {
  readonly lines: Buffer;
  readonly entries: readonly Entry[];
}

interface Pending {
  readonly packed: Packed;
  readonly line: (entries: readonly UnitEntry[]) => SegmentLine;
  readonly resolve: (line: SegmentLine) => void;
  readonly reject: (error: unknown) => void;
}

const NOTHING: Packed = { lines: Buffer.alloc(0), entries: [] };

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
    // The lines are packed at once, so that V8 need not keep their texts until the disk has written them.
    const packed = this.#pack(units);
    return new Promise((resolve, reject) => this.#add({ packed, line, resolve, reject }));
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
    try {
      this.#files ??= await this.#open();
      return await this.#writeTo(this.#files, batch);
    } finally {
      // The memory is reused, because the kernel would clear new memory of this size each time.
      for (const { packed } of batch) this.#memory.giveBack(packed.lines);
    }
  }

  async #writeTo(files: Files, batch: readonly Pending[]): Promise<SegmentLine[]> {
    let end = this.#ends.units;
    const lines = batch.map(({ packed, line }) => {
      for (const entry of packed.entries) entry[1] += end;
      end += packed.lines.length;
      return line(packed.entries);
    });
    const bodies = batch.map(({ packed }) => packed.lines).filter(({ length }) => length > 0);
    if (bodies.length > 0) await writeAll(files.units, bodies, this.#ends.units, this.#unitsPath);
    const text = Buffer.from(lines.map(encodeLine).join(''));
    await writeAll(files.lines, [text], this.#ends.lines, this.#linesPath);
    this.#ends = { lines: this.#ends.lines + text.length, units: end };
    return lines;
  }

  #pack(units: readonly UnitLine[]): Packed {
    if (units.length === 0) return NOTHING;
    const memory = this.#memory.take(bytesOf(units));
    let used = 0;
    const entries = units.map(({ outcome, head, result, bytes: length }): Entry => {
      const from = used;
      used += memory.write(head, used);
      if (typeof result === 'string') used += memory.write(result, used);
      else {
        memory.set(result, used);
        used += result.length;
      }
      used += memory.write(LINE_END, used);
      const crc = crc32(memory.subarray(from, used));
      return [outcome.key, from, length, crc, outcome.status, outcome.errorTag, outcome.costMicros];
    });
    return { lines: memory.subarray(0, used), entries };
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

/** Returns pieces without their first bytes. */
function without(pieces: readonly Buffer[], bytes: number): readonly Buffer[] {
  let left = bytes;
  let done = 0;
  for (; done < pieces.length && left >= (pieces[done] as Buffer).length; done++)
    left -= (pieces[done] as Buffer).length;
  const [first, ...rest] = pieces.slice(done);
  return first === undefined ? [] : [first.subarray(left), ...rest];
}
