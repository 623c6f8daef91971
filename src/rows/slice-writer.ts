import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { moveDurably } from '../files/write-durably.js';
import { readLines, sliceFile } from './stage-manifest.js';

/**
 * Numbers of rows in a slice. `large` is for files of many rows. `small` is for files of few rows, so that progress is visible, and for
 * large rows. A file with more than `SMALL_SLICES` small slices has larger ones, of a multiple of `small` rows.
 */
export interface SliceSizes {
  readonly large: number;
  readonly small: number;
}

const SMALL_SLICES = 20;
/** Files with more rows than this have large slices, unless their rows are large. */
const MANY_ROWS = 20_000;
/** Maximum number of bytes of a slice of several rows, and of the first rows that are buffered before the size of slices is decided. */
const MOST_BYTES = 16 * 1024 * 1024;
const WRITE_CHARS = 256 * 1024;

/**
 * Writes rows (lines of JSON) into slice files of one directory, in order. Each file is durable when it is closed. A slice is read as a whole,
 * so all slices become smaller when the rows of one are too large together.
 */
export class SliceWriter {
  #dir: string;
  #sizes: SliceSizes;
  #peek: string[] | null = [];
  #size = 0;
  #slices = 0;
  #inSlice = 0;
  #bytes = 0;
  #text = '';
  #file: { write(text: string): Promise<void>; end(): Promise<void> } | null = null;

  constructor(dir: string, sizes: SliceSizes) {
    this.#dir = dir;
    this.#sizes = sizes;
  }

  get slices(): number {
    return this.#slices;
  }

  /** Number of rows in each slice except the last; known after `end`. */
  get rowsPerSlice(): number {
    return this.#size;
  }

  /** Adds one line, which ends with a line feed. If it returns a promise, await the promise before the next call. */
  add(line: string): Promise<void> | null {
    this.#bytes += Buffer.byteLength(line);
    if (this.#peek !== null) {
      this.#peek.push(line);
      if (this.#peek.length > MANY_ROWS) return this.#decide(this.#sizes.large);
      return this.#bytes > MOST_BYTES ? this.#decide(this.#sizes.small) : null;
    }
    if (this.#bytes > MOST_BYTES && this.#inSlice > 0) return this.#shrink(line);
    this.#text += line;
    this.#inSlice++;
    if (this.#inSlice >= this.#size) return this.#endSlice();
    return this.#text.length >= WRITE_CHARS ? this.#flush() : null;
  }

  async end(): Promise<void> {
    if (this.#peek !== null) {
      const { large, small } = this.#sizes;
      await this.#decide(Math.min(large, small * Math.max(1, Math.ceil(this.#peek.length / small / SMALL_SLICES))));
    }
    if (this.#inSlice > 0) await this.#endSlice();
  }

  /** Closes open files. The slices in these files are not used. */
  async abandon(): Promise<void> {
    await this.#file?.end().catch(() => undefined);
    this.#file = null;
  }

  async #decide(size: number): Promise<void> {
    const first = this.#peek ?? [];
    this.#peek = null;
    this.#bytes = 0;
    this.#size = size;
    for (const line of first) await this.add(line);
  }

  /** Writes all slices again with fewer rows, then the line. */
  async #shrink(line: string): Promise<void> {
    const size = Math.ceil(this.#inSlice / 2);
    await this.#endSlice();
    const old = Array.from({ length: this.#slices }, (_, slice) => `${sliceFile(this.#dir, slice)}.${size}`);
    for (const [slice, file] of old.entries()) await moveDurably(sliceFile(this.#dir, slice), file);
    this.#slices = 0;
    this.#size = size;
    for (const file of old) {
      for (const row of await readLines(file, (text) => `${text}\n`)) await this.add(row);
      await rm(file);
    }
    await this.add(line);
  }

  async #flush(): Promise<void> {
    const text = this.#text;
    this.#text = '';
    this.#file ??= openGzip(sliceFile(this.#dir, this.#slices));
    if (text !== '') await this.#file.write(text);
  }

  async #endSlice(): Promise<void> {
    await this.#flush();
    await this.#file?.end();
    this.#file = null;
    this.#slices++;
    this.#inSlice = 0;
    this.#bytes = 0;
  }
}

/**
 * Opens a gzip file whose contents are not compressed. Compression would take 3% of the CPU of a job, and the results of the rows need ten
 * times as much disk.
 */
function openGzip(path: string) {
  const gzip = createGzip({ level: 0, chunkSize: WRITE_CHARS });
  let failed: unknown;
  const done = pipeline(gzip, createWriteStream(path, { mode: 0o600, flush: true }));
  done.catch((error: unknown) => {
    failed = error;
  });
  return {
    async write(text: string): Promise<void> {
      if (failed !== undefined) throw failed;
      if (gzip.write(text)) return;
      await Promise.race([new Promise<void>((resolve) => gzip.once('drain', resolve)), done]);
    },
    async end(): Promise<void> {
      gzip.end();
      await done;
    },
  };
}
