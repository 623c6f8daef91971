import { randomFillSync } from 'node:crypto';
import { rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CodedError } from '../../core/errors/coded-error.js';
import { Serial } from '../../core/processes/serial.js';
import { makeFolder } from '../../files/make-folder.js';
import { withPath } from '../../files/write-durably.js';

const BLOCK_BYTES = 1_048_576;
/** Assumed size of an answer until an answer has landed. */
const FIRST_ANSWER_BYTES = 1_048_576;
const SMALLEST_ANSWER_BYTES = 65_536;
/** The largest answer so far is multiplied by this factor, because sizes vary. */
const MARGIN = 1.5;
/** Largest reserve, for any number of requests in flight. */
const MOST_BYTES = 268_435_456;
/** Largest reserve until an answer has landed: a disk writes more only in seconds, and the first requests would wait. */
const MOST_AT_FIRST = 67_108_864;
/** Room for the line of an answer and for metadata of the file system. */
const LINE_BYTES = 65_536;

/**
 * Reserves disk space for the answers of requests in flight. A file occupies the space, and shrinks when the disk is full. Without the
 * reserve, a small intent could still be written when the disk has no space for its answer.
 */
export class Reserve {
  readonly #path: string;
  #file: FileHandle | null = null;
  #size = 0;
  /** The bytes that the file consists of. */
  #block: Buffer | null = null;
  /** Bytes of the largest answer so far; 0: no answer has landed. */
  #largest = 0;
  readonly #changes = new Serial();
  /** The numbers of requests of the calls of `keep` that wait, in order. */
  readonly #asked: number[] = [];

  /** Frees the reserve of a killed process. */
  constructor(path: string) {
    this.#path = path;
    try {
      rmSync(path, { force: true });
    } catch {
      // If the folder is unusable, the first write reports this.
    }
  }

  /** Reserves space for the answers of this many requests. Rejects if the disk has too little space: then no request may be sent. */
  keep(requests: number): Promise<void> {
    this.#asked.push(requests);
    return this.#changes.run(async () => {
      // One growth, with one sync of the disk, serves all calls that wait.
      const all = Math.max(...this.#asked);
      this.#asked.shift();
      try {
        await this.#growFor(all);
      } catch (error) {
        if (all === requests) throw error;
        await this.#growFor(requests);
      }
    });
  }

  async #growFor(requests: number): Promise<void> {
    const isFirst = this.#largest === 0;
    const each = isFirst ? FIRST_ANSWER_BYTES : Math.max(SMALLEST_ANSWER_BYTES, Math.ceil(this.#largest * MARGIN));
    const wanted = Math.min(isFirst ? MOST_AT_FIRST : MOST_BYTES, requests * (each + LINE_BYTES));
    const before = this.#size;
    if (wanted <= before) return;
    try {
      await this.#grow(wanted);
    } catch (error) {
      await this.#shrink(before).catch(() => undefined);
      if (!isFull(error)) throw withPath(error, this.#path);
      throw new CodedError(
        'disk-full',
        `The disk of ${dirname(this.#path)} has no room for the answers of ${requests} request(s) in flight. Nothing was sent. Free ${Math.ceil((wanted - before) / 1e6)} MB and run the same command again`,
        { cause: error },
      );
    }
  }

  /** Writes an answer, and uses the reserve if the disk is full. `bytesOf` returns the size of the answer after a write. */
  async into(bytesOf: () => number, write: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        await write();
        this.#largest = Math.max(this.#largest, bytesOf());
        return;
      } catch (error) {
        if (!isFull(error) || this.#size === 0) throw error;
        await this.#changes.run(() => this.#shrink(this.#size - bytesOf() - LINE_BYTES));
      }
    }
  }

  close(): Promise<void> {
    return this.#changes.run(async () => {
      const file = this.#file;
      this.#file = null;
      this.#size = 0;
      if (!file) return;
      await file.close();
      rmSync(this.#path, { force: true });
    });
  }

  async #grow(to: number): Promise<void> {
    makeFolder(dirname(this.#path));
    if (this.#file === null) {
      // Removes the file of a killed process, or a link with the name of that file. The target of a link is not ours.
      rmSync(this.#path, { force: true });
      this.#file = await open(this.#path, 'wx', 0o600);
    }
    // Random bytes, because some file systems allocate no space for zeros.
    this.#block ??= randomFillSync(Buffer.alloc(BLOCK_BYTES));
    const block = this.#block;
    while (this.#size < to) {
      const { bytesWritten } = await this.#file.write(block, 0, Math.min(block.length, to - this.#size), this.#size);
      this.#size += bytesWritten;
    }
    await this.#file.datasync();
  }

  async #shrink(to: number): Promise<void> {
    this.#size = Math.max(0, to);
    await this.#file?.truncate(this.#size);
    await this.#file?.datasync();
  }
}

function isFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(String((error as NodeJS.ErrnoException)?.code));
}
