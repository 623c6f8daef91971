import { randomUUID } from 'node:crypto';
import { createWriteStream, existsSync, readdirSync, statSync } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { finished } from 'node:stream/promises';
import { crc32 } from 'node:zlib';
import {
  BodiesGone,
  type BookTotals,
  type Claim,
  type Freshness,
  type Intent,
  type Journal,
  type Landed,
  type LandedAnswer,
  type UnitOutcome,
  type UnitRecord,
  type UnknownOutcome,
} from '../core/journal.js';
import { Book, readBook } from './book.js';
import type { BookLine, UnitEntry } from './book-lines.js';
import { type BookEnds, BookWriter, type UnitLine } from './book-writer.js';
import { type IndexEntry, UnitIndex } from './unit-index.js';

const LINES = '.journal';
const UNITS = '.units.jsonl';
const ORPHANED = 'the process ended before an answer landed';
/** Books kept open for writing; the longest idle one is closed beyond it. */
const MAX_WRITERS = 32;

/**
 * The journal of one machine: a folder of books, each an append-only file of checked lines and a file of bodies. One process
 * writes (whoever opens it holds the lock of the folder); others may read.
 */
export class FileJournal implements Journal {
  readonly #dir: string;
  readonly #index = new UnitIndex();
  readonly #books = new Map<string, Book>();
  readonly #byNumber: Book[] = [];
  readonly #ends = new Map<string, BookEnds>();
  readonly #writers = new Map<string, BookWriter>();
  readonly #claims = new Map<string, string>();
  readonly #claimed = new Map<string, Set<string>>();
  readonly #unknowns = new Map<string, number>();
  readonly #damagedBodies = new Set<string>();
  /** Numbers of books whose bodies are gone. */
  readonly #pruned = new Set<number>();
  readonly #intents = new Map<string, { readonly book: string; readonly owner: string }>();
  readonly #watchers = new Set<() => void>();
  /** Lines that failed their checksum when the journal was read. */
  damagedLines = 0;

  private constructor(dir: string) {
    this.#dir = dir;
  }

  /**
   * Opens the journal in a folder. `writes`: the caller holds the folder's lock, so every open intent is of a dead process, and
   * is written down as an unknown outcome. `alone`: the caller only reads, but nobody holds the lock: open intents count as
   * unknown. Without either, open intents are somebody's calls in flight.
   */
  static async open(
    dir: string,
    options: { readonly writes: boolean; readonly alone?: boolean },
  ): Promise<FileJournal> {
    const journal = new FileJournal(dir);
    const orphans: { readonly book: Book; readonly id: string }[] = [];
    for (const path of bookPaths(dir)) {
      const name = relative(dir, path).slice(0, -LINES.length).split(sep).join('/');
      const book = journal.#book(name);
      const { ends, damaged } = readBook(path, (line) => journal.#take(book, line));
      journal.#ends.set(name, ends);
      if (ends.units > 0 && !existsSync(journal.#path(name, UNITS))) journal.#pruned.add(book.number);
      journal.damagedLines += damaged;
      for (const id of book.open.keys()) orphans.push({ book, id });
      // A big journal must not hold up the process's signals while it is read.
      await new Promise(setImmediate);
    }
    for (const { book, id } of options.writes || options.alone ? orphans : []) {
      const line: BookLine = { t: 'miss', id, at: Date.now(), why: ORPHANED, charged: 'maybe' };
      if (options.writes) await journal.#append(book.name, [], () => line);
      else journal.#take(book, line);
    }
    return journal;
  }

  async claim(keys: readonly string[], owner: string, freshness?: Freshness): Promise<Claim> {
    const landed: Landed[] = [];
    const mine: { key: string; unknowns: number }[] = [];
    const theirs: string[] = [];
    let owned = this.#claimed.get(owner);
    for (const key of new Set(keys)) {
      const holder = this.#claims.get(key);
      if (holder !== undefined && holder !== owner) {
        theirs.push(key);
        continue;
      }
      const entry = holder === owner ? undefined : this.#usable(key, freshness);
      if (entry) {
        landed.push(toLanded(key, entry));
        continue;
      }
      if (!owned) {
        owned = new Set();
        this.#claimed.set(owner, owned);
      }
      owned.add(key);
      this.#claims.set(key, owner);
      mine.push({ key, unknowns: this.#unknowns.get(key) ?? 0 });
    }
    return { landed, mine, theirs };
  }

  async intend(intent: Intent): Promise<string> {
    const id = randomUUID();
    this.#intents.set(id, { book: intent.book, owner: intent.owner });
    try {
      await this.#append(intent.book, [], () => ({
        t: 'intent',
        id,
        at: Date.now(),
        owner: intent.owner,
        op: intent.operation,
        keys: intent.keys,
        est: intent.estimateMicros,
        deadline: intent.deadline,
      }));
    } catch (error) {
      this.#intents.delete(id);
      throw error;
    }
    return id;
  }

  async land(intentId: string, answer: LandedAnswer): Promise<void> {
    const intent = this.#intents.get(intentId);
    const book = intent && this.#books.get(intent.book)?.open.get(intentId);
    if (!intent || !book) throw new Error(`no open intent ${intentId}`);
    const units = answer.units.map((outcome) => toLine(outcome, book.op, answer.requestId, answer.fetchedAt));
    await this.#append(intent.book, units, (entries) => ({
      t: 'answer',
      id: intentId,
      at: answer.fetchedAt,
      req: answer.requestId,
      units: entries,
    }));
    this.#intents.delete(intentId);
    this.#giveBack(
      intent.owner,
      answer.units.map((unit) => unit.key),
    );
  }

  async miss(intentId: string, reason: string, charged: 'never' | 'maybe'): Promise<void> {
    const intent = this.#intents.get(intentId);
    if (!intent) return;
    await this.#append(intent.book, [], () => ({ t: 'miss', id: intentId, at: Date.now(), why: reason, charged }));
    this.#intents.delete(intentId);
  }

  async settle(owner: string, book: string, operation: string, units: readonly UnitOutcome[]): Promise<void> {
    const at = Date.now();
    const lines = units.map((outcome) => toLine(outcome, operation, null, at));
    await this.#append(book, lines, (entries) => ({ t: 'settle', at, op: operation, units: entries }));
    this.#giveBack(
      owner,
      units.map((unit) => unit.key),
    );
  }

  async release(owner: string): Promise<void> {
    try {
      for (const [id, intent] of this.#intents) {
        if (intent.owner === owner) await this.miss(id, 'given up before an answer landed', 'maybe');
      }
    } finally {
      this.#giveBack(owner, [...(this.#claimed.get(owner) ?? [])]);
    }
  }

  settled(keys: readonly string[], signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = () => {
        this.#watchers.delete(look);
        signal?.removeEventListener('abort', onAbort);
      };
      const onAbort = () => {
        done();
        reject(signal?.reason);
      };
      const look = () => {
        if (keys.length > 0 && keys.every((key) => this.#claims.has(key))) return;
        done();
        resolve();
      };
      if (signal?.aborted) return onAbort();
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#watchers.add(look);
      look();
    });
  }

  async lookup(keys: readonly string[], freshness?: Freshness): Promise<readonly Landed[]> {
    const landed: Landed[] = [];
    for (const key of keys) {
      const entry = this.#usable(key, freshness);
      if (entry) landed.push(toLanded(key, entry));
    }
    return landed;
  }

  async unitFiles(book: string, keys: readonly string[], scratch: string): Promise<readonly string[]> {
    const own: [string, IndexEntry][] = [];
    const elsewhere: [string, IndexEntry][] = [];
    for (const key of keys) {
      const entry = this.#index.get(key);
      if (!entry) throw new Error(`unit ${key} has not landed`);
      (this.#byNumber[entry.book]?.name === book ? own : elsewhere).push([key, entry]);
    }
    const files: string[] = [];
    if (own.length > 0) {
      if (!this.#books.get(book)?.writtenHere) await this.#eachBody(own, async () => {});
      files.push(this.#path(book, UNITS));
    }
    if (elsewhere.length > 0) {
      const out = createWriteStream(scratch, { mode: 0o600 });
      await this.#eachBody(elsewhere, async (_key, body) => {
        if (!out.write(body)) await new Promise<void>((resolve) => out.once('drain', () => resolve()));
      });
      out.end();
      await finished(out);
      files.push(scratch);
    }
    return files;
  }

  async read(keys: readonly string[]): Promise<ReadonlyMap<string, UnitRecord>> {
    const records = new Map<string, UnitRecord>();
    const found: [string, IndexEntry][] = [];
    for (const key of new Set(keys)) {
      const entry = this.#index.get(key);
      if (entry) found.push([key, entry]);
    }
    await this.#eachBody(found, async (key, body) => {
      records.set(key, JSON.parse(body.toString('utf8')) as UnitRecord);
    });
    return records;
  }

  async prune(bookPrefix: string, before: number): Promise<number> {
    let pruned = 0;
    for (const [name, book] of this.#books) {
      if (!name.startsWith(bookPrefix) || book.open.size > 0 || this.#writers.has(name)) continue;
      const path = this.#path(name, UNITS);
      const written = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
      if (written === undefined || written >= before) continue;
      await rm(path);
      this.#pruned.add(book.number);
      pruned++;
    }
    return pruned;
  }

  async totals(bookPrefix: string): Promise<BookTotals> {
    const unknown: UnknownOutcome[] = [];
    const sums = { requests: 0, unitsLanded: 0, costMicros: 0, openMicros: 0 };
    for (const [name, book] of this.#books) {
      if (!name.startsWith(bookPrefix)) continue;
      sums.requests += book.requests;
      sums.unitsLanded += book.unitsLanded;
      sums.costMicros += book.costMicros;
      sums.openMicros += book.openMicros;
      unknown.push(...book.unknown);
    }
    return { ...sums, unknown };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#writers.values()].map((writer) => writer.close()));
    this.#writers.clear();
  }

  #usable(key: string, freshness: Freshness | undefined): IndexEntry | undefined {
    const entry = this.#index.get(key);
    if (!entry || !freshness) return entry;
    const { freshAfter, retryTags, retryBefore, rebuyBefore } = freshness;
    if (freshAfter !== undefined && entry.at < freshAfter) return undefined;
    if (entry.status === 'error' && retryTags?.includes(entry.tag ?? '') && entry.at < (retryBefore ?? 0))
      return undefined;
    if (rebuyBefore !== undefined && entry.at < rebuyBefore && this.#bodyGone(key, entry)) return undefined;
    return entry;
  }

  #bodyGone(key: string, entry: IndexEntry): boolean {
    return this.#pruned.has(entry.book) || this.#damagedBodies.has(key);
  }

  #book(name: string): Book {
    let book = this.#books.get(name);
    if (!book) {
      book = new Book(name, this.#byNumber.length);
      this.#books.set(name, book);
      this.#byNumber.push(book);
    }
    return book;
  }

  #take(book: Book, line: BookLine): void {
    const { landed, unknown } = book.take(line);
    this.#count(unknown);
    for (const [key, offset, length, crc, status, tag] of landed) {
      this.#index.set(key, { at: (line as { at: number }).at, book: book.number, offset, length, crc, status, tag });
      this.#unknowns.delete(key);
      this.#damagedBodies.delete(key);
    }
  }

  #count(keys: readonly string[]): void {
    for (const key of keys) this.#unknowns.set(key, (this.#unknowns.get(key) ?? 0) + 1);
  }

  async #append(
    name: string,
    units: readonly UnitLine[],
    line: (entries: readonly UnitEntry[]) => BookLine,
  ): Promise<void> {
    const book = this.#book(name);
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

  #closeIdle(): void {
    for (const [name, writer] of this.#writers) {
      if (this.#writers.size < MAX_WRITERS) return;
      if (!writer.idle) continue;
      this.#writers.delete(name);
      this.#ends.set(name, writer.ends);
      void writer.close();
    }
  }

  #giveBack(owner: string, keys: readonly string[]): void {
    const owned = this.#claimed.get(owner);
    for (const key of keys) {
      if (this.#claims.get(key) === owner) this.#claims.delete(key);
      owned?.delete(key);
    }
    if (owned?.size === 0) this.#claimed.delete(owner);
    for (const look of [...this.#watchers]) look();
  }

  /** Hands over the bodies of these units, checked, in the order they lie on disk; what is missing or damaged is reported together. */
  async #eachBody(
    units: readonly [string, IndexEntry][],
    each: (key: string, body: Buffer) => Promise<void>,
  ): Promise<void> {
    const gone: string[] = [];
    const inOrder = [...units].sort(([, a], [, b]) => a.book - b.book || a.offset - b.offset);
    let file: FileHandle | null = null;
    let opened = -1;
    try {
      for (const [key, entry] of inOrder) {
        if (entry.book !== opened) {
          await file?.close();
          file = await openIfThere(this.#path((this.#byNumber[entry.book] as Book).name, UNITS));
          opened = entry.book;
        }
        const body = Buffer.alloc(entry.length);
        const read = file ? (await file.read(body, 0, entry.length, entry.offset)).bytesRead : 0;
        if (read === entry.length && crc32(body) === entry.crc) await each(key, body);
        else gone.push(key);
      }
    } finally {
      await file?.close();
    }
    for (const key of gone) this.#damagedBodies.add(key);
    if (gone.length > 0) throw new BodiesGone(gone);
  }

  #path(book: string, ending: string): string {
    return join(this.#dir, ...book.split('/')) + ending;
  }
}

function toLanded(key: string, entry: IndexEntry): Landed {
  return { key, fetchedAt: entry.at, status: entry.status, errorTag: entry.tag };
}

function toLine(outcome: UnitOutcome, operation: string, requestId: string | null, at: number): UnitLine {
  const record: UnitRecord = {
    key: outcome.key,
    unit: outcome.unit,
    operation,
    request_id: requestId,
    fetched_at: new Date(at).toISOString(),
    cost_micros: outcome.costMicros,
    status: outcome.status,
    error_tag: outcome.errorTag,
    http_status: outcome.httpStatus,
    source: outcome.source,
    result: outcome.result,
  };
  return { outcome, json: JSON.stringify(record) };
}

async function openIfThere(path: string): Promise<FileHandle | null> {
  try {
    return await open(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function bookPaths(dir: string): string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith(LINES))
    .sort()
    .map((path) => join(dir, path));
}
