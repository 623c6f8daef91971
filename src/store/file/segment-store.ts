import { existsSync, readdirSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { UsageError } from '../../core/rows/exit-codes.js';
import { isJobId } from '../../core/rows/job.js';
import type { SpendSums } from '../spend/spend-sums.js';
import { Book, type ReadBook, readBook } from './segment.js';
import type { BookLine, UnitEntry } from './segment-lines.js';
import { type BookEnds, BookWriter, type UnitLine } from './segment-writer.js';

const LINES = '.journal';
const UNITS = '.units.jsonl';
/** Books kept open for writing; the longest idle one is closed beyond it. */
const MAX_WRITERS = 32;

export interface DamagedBook extends ReadBook {
  readonly book: Book;
}

/** The books of a folder: read once, then appended to. Each line, read or written, goes to `take`. */
export class Shelf {
  readonly #dir: string;
  readonly #sums: SpendSums;
  readonly #take: (book: Book, line: BookLine) => void;
  readonly #books = new Map<string, Book>();
  readonly #byNumber: Book[] = [];
  readonly #ends = new Map<string, BookEnds>();
  readonly #writers = new Map<string, BookWriter>();

  constructor(dir: string, sums: SpendSums, take: (book: Book, line: BookLine) => void) {
    this.#dir = dir;
    this.#sums = sums;
    this.#take = take;
  }

  /** Reads all books; answers with those that are damaged. */
  async read(): Promise<readonly DamagedBook[]> {
    const damagedBooks: DamagedBook[] = [];
    for (const path of bookPaths(this.#dir)) {
      const name = relative(this.#dir, path).slice(0, -LINES.length).split(sep).join('/');
      const book = this.#bookOf(name);
      const { ends, damaged } = readBook(path, (line) => this.#take(book, line));
      this.#ends.set(name, ends);
      if (damaged.length > 0) damagedBooks.push({ book, ends, damaged });
      // A big journal must not hold up the process's signals while it is read.
      await new Promise(setImmediate);
    }
    return damagedBooks;
  }

  /** A book's files were mended, and end here. */
  mended({ name }: Book, ends: BookEnds): void {
    this.#ends.set(name, ends);
  }

  get books(): readonly Book[] {
    return this.#byNumber;
  }

  find(name: string): Book | undefined {
    return this.#books.get(name);
  }

  numbered(number: number): Book {
    return this.#byNumber[number] as Book;
  }

  /** Whether a line of the book says that its unit file holds something. */
  hasUnits({ name }: Book): boolean {
    return (this.#ends.get(name)?.units ?? 0) > 0;
  }

  isWriting({ name }: Book): boolean {
    return this.#writers.has(name);
  }

  /** File of a book's lines. */
  lineFile(name: string): string {
    return this.#path(name, LINES);
  }

  /** File of the bodies of a book's units. */
  unitFile(name: string): string {
    return this.#path(name, UNITS);
  }

  /** Writes a line, after the units that it acknowledges; returns when both are durable and taken. */
  async append(
    name: string,
    units: readonly UnitLine[],
    line: (entries: readonly UnitEntry[]) => BookLine,
  ): Promise<void> {
    const book = this.#bookOf(name);
    let writer = this.#writers.get(name);
    if (!writer) {
      const ends = this.#ends.get(name);
      if (!ends) book.writtenHere = true;
      writer = new BookWriter(this.#path(name, LINES), this.#path(name, UNITS), ends ?? { lines: 0, units: 0 });
      this.#closeIdle();
    }
    // The last used stands last, so that the longest idle one is found first.
    this.#writers.delete(name);
    this.#writers.set(name, writer);
    this.#take(book, await writer.append(units, line));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#writers.values()].map((writer) => writer.close()));
    this.#writers.clear();
  }

  #bookOf(name: string): Book {
    let book = this.#books.get(name);
    if (!book) {
      book = new Book(name, this.#byNumber.length, this.#sums);
      this.#books.set(name, book);
      this.#byNumber.push(book);
    }
    return book;
  }

  #closeIdle(): void {
    for (const [name, writer] of this.#writers) {
      if (this.#writers.size < MAX_WRITERS) return;
      if (!writer.idle) continue;
      this.#writers.delete(name);
      this.#ends.set(name, writer.ends);
      void writer.close();
    }
  }

  #path(book: string, ending: string): string {
    const parts = book.split('/');
    if (!parts.every(isJobId)) throw new UsageError(`"${book}" can't be the name of a book of the journal`);
    return join(this.#dir, ...parts) + ending;
  }
}

function bookPaths(dir: string): string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith(LINES))
    .sort()
    .map((path) => join(dir, path));
}
