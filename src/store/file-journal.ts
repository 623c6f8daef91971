import { randomUUID } from 'node:crypto';
import { createWriteStream, existsSync, readdirSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { finished } from 'node:stream/promises';
import {
  BodiesGone,
  type BookTotals,
  type Claim,
  type Claimed,
  type Freshness,
  type Intent,
  type Journal,
  type Landed,
  type LandedAnswer,
  type UnitOutcome,
  type UnitRecord,
  type UnknownOutcome,
} from '../core/journal.js';
import type { Json } from '../core/json.js';
import type { Spend, SpendCaps, UsageGroup, UsageLine } from '../core/spend.js';
import { Book, readBook } from './book.js';
import { eachBody } from './book-bodies.js';
import type { BookLine, UnitEntry } from './book-lines.js';
import { type BookEnds, BookWriter, type UnitLine } from './book-writer.js';
import { passed } from './budget.js';
import { Claims } from './claims.js';
import { FileCaps } from './file-caps.js';
import { SpendSums } from './spend-sums.js';
import { type IndexEntry, UnitIndex } from './unit-index.js';
import { unitRecord } from './unit-record.js';
import { Unsettled } from './unsettled.js';

const LINES = '.journal';
const UNITS = '.units.jsonl';
const ORPHANED = 'the process ended before an answer landed';
/** Books kept open for writing; the longest idle one is closed beyond it. */
const MAX_WRITERS = 32;

export interface FileJournalOptions {
  /** The caller holds the folder's lock: every open intent is of a dead process, and is written down as an unknown outcome. */
  readonly writes: boolean;
  /** The caller only reads, but nobody holds the lock: open intents count as unknown. Else they are somebody's calls in flight. */
  readonly alone?: boolean;
  /** Whose money is spent: caps and usage are this team's, others' purchases in the folder never count. */
  readonly team?: string;
  /** Unix ms; days and months of caps are told by it. */
  readonly now?: () => number;
}

/**
 * The journal of one machine: a folder of books, each an append-only file of checked lines and a file of bodies. One process
 * writes (whoever opens it holds the lock of the folder); others may read.
 */
export class FileJournal implements Journal, Spend {
  readonly #dir: string;
  readonly #team: string;
  readonly #now: () => number;
  readonly #caps: FileCaps;
  readonly #sums = new SpendSums();
  readonly #index = new UnitIndex();
  readonly #books = new Map<string, Book>();
  readonly #byNumber: Book[] = [];
  readonly #ends = new Map<string, BookEnds>();
  readonly #writers = new Map<string, BookWriter>();
  readonly #claims = new Claims();
  readonly #unsettled = new Unsettled();
  readonly #damagedBodies = new Set<string>();
  /** Numbers of books whose bodies are gone. */
  readonly #pruned = new Set<number>();
  /** Open intents that may still land. The owner of one that nobody follows now is ''. */
  readonly #intents = new Map<string, { readonly book: string; readonly owner: string }>();
  /** Lines that failed their checksum when the journal was read. */
  damagedLines = 0;

  private constructor(dir: string, { team = '', now = Date.now }: FileJournalOptions) {
    this.#dir = dir;
    this.#team = team;
    this.#now = now;
    this.#caps = new FileCaps(join(dir, 'caps.json'));
  }

  static async open(dir: string, options: FileJournalOptions): Promise<FileJournal> {
    const journal = new FileJournal(dir, options);
    const orphans: { readonly book: Book; readonly id: string }[] = [];
    for (const path of bookPaths(dir)) {
      const name = relative(dir, path).slice(0, -LINES.length).split(sep).join('/');
      const book = journal.#book(name);
      const { ends, damaged } = readBook(path, (line) => journal.#take(book, line));
      journal.#ends.set(name, ends);
      if (ends.units > 0 && !existsSync(journal.#path(name, UNITS))) journal.#pruned.add(book.number);
      journal.damagedLines += damaged;
      for (const id of book.open.keys()) {
        if (book.started(id)) journal.#intents.set(id, { book: name, owner: '' });
        else orphans.push({ book, id });
      }
      // A big journal must not hold up the process's signals while it is read.
      await new Promise(setImmediate);
    }
    for (const { book, id } of options.writes || options.alone ? orphans : []) {
      const line: BookLine = { t: 'miss', id, at: journal.#now(), why: ORPHANED, charged: 'maybe' };
      if (options.writes) await journal.#append(book.name, [], () => line);
      else journal.#take(book, line);
    }
    return journal;
  }

  async claim(keys: readonly string[], owner: string, freshness?: Freshness): Promise<Claim> {
    const landed: Landed[] = [];
    const mine: Claimed[] = [];
    const theirs: string[] = [];
    for (const key of new Set(keys)) {
      const holder = this.#claims.ownerOf(key);
      if (holder !== undefined && holder !== owner) {
        theirs.push(key);
        continue;
      }
      const claimed = this.#unsettled.of(key);
      const { started } = claimed;
      const entry = holder === owner || started ? undefined : this.#usable(key, freshness);
      if (entry) {
        landed.push(toLanded(key, entry));
        continue;
      }
      this.#claims.take(key, owner);
      const intent = started && this.#intents.get(started.intentId);
      if (started && intent) this.#intents.set(started.intentId, { ...intent, owner });
      mine.push(claimed);
    }
    return { landed, mine, theirs };
  }

  async intend(intent: Intent): Promise<string> {
    const { owner, book, operation, keys, estimateMicros, deadline } = intent;
    const at = this.#now();
    const team = this.#team;
    const over = passed(this.#sums, this.#caps.get(team), team, intent, at);
    if (over) throw over;
    const id = randomUUID();
    // Counted before it is written: what is asked meanwhile must find this money taken.
    this.#sums.opened(id, { team, book, operation, at, estimateMicros });
    this.#intents.set(id, { book, owner });
    try {
      await this.#append(book, [], () => ({
        t: 'intent',
        id,
        at,
        owner,
        op: operation,
        keys,
        est: estimateMicros,
        deadline,
        ...(team === '' ? {} : { team }),
      }));
    } catch (error) {
      this.#intents.delete(id);
      this.#sums.missed(id, 'never');
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
    this.#claims.giveBack(
      intent.owner,
      answer.units.map((unit) => unit.key),
    );
  }

  async note(intentId: string, owner: string, facts: Json): Promise<void> {
    const book = this.#intents.get(intentId)?.book ?? this.#bookOfLost(intentId);
    if (book === undefined) throw new Error(`no open intent ${intentId}`);
    await this.#append(book, [], () => ({ t: 'note', id: intentId, at: this.#now(), facts }));
    this.#intents.set(intentId, { book, owner });
  }

  async miss(intentId: string, reason: string, charged: 'never' | 'maybe'): Promise<void> {
    const intent = this.#intents.get(intentId);
    if (!intent) return;
    await this.#append(intent.book, [], () => ({ t: 'miss', id: intentId, at: this.#now(), why: reason, charged }));
    this.#intents.delete(intentId);
  }

  async settle(owner: string, book: string, operation: string, units: readonly UnitOutcome[]): Promise<void> {
    const at = this.#now();
    const lines = units.map((outcome) => toLine(outcome, operation, null, at));
    await this.#append(book, lines, (entries) => ({ t: 'settle', at, op: operation, units: entries }));
    this.#claims.giveBack(
      owner,
      units.map((unit) => unit.key),
    );
  }

  async release(owner: string): Promise<void> {
    try {
      for (const [id, intent] of this.#intents) {
        if (intent.owner !== owner) continue;
        if (this.#books.get(intent.book)?.started(id)) this.#intents.set(id, { ...intent, owner: '' });
        else await this.miss(id, 'given up before an answer landed', 'maybe');
      }
    } finally {
      this.#claims.giveBack(owner, this.#claims.of(owner));
    }
  }

  settled(keys: readonly string[], signal?: AbortSignal): Promise<void> {
    return this.#claims.settled(keys, signal);
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

  async caps(): Promise<SpendCaps> {
    return this.#caps.get(this.#team);
  }

  setCaps(caps: SpendCaps): Promise<void> {
    return this.#caps.set(this.#team, caps);
  }

  async spent() {
    const now = this.#now();
    return { day: this.#sums.day(this.#team, now), month: this.#sums.month(this.#team, now) };
  }

  async usage(by: UsageGroup, since?: number, until?: number): Promise<readonly UsageLine[]> {
    return this.#sums.usage(this.#team, by, since, until);
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
      book = new Book(name, this.#byNumber.length, this.#sums);
      this.#books.set(name, book);
      this.#byNumber.push(book);
    }
    return book;
  }

  #take(book: Book, line: BookLine): void {
    const { landed, unknown, noted } = book.take(line);
    if ('id' in line) {
      this.#unsettled.lost(unknown, book, line.id);
      if (noted) this.#unsettled.noted(noted.keys, noted.found, book, line.id);
    }
    for (const [key, offset, length, crc, status, tag] of landed) {
      this.#index.set(key, { at: (line as { at: number }).at, book: book.number, offset, length, crc, status, tag });
      this.#unsettled.landed(key);
      this.#damagedBodies.delete(key);
    }
  }

  #bookOfLost(id: string): string | undefined {
    return this.#byNumber.find((book) => book.lost(id))?.name;
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

  /** The bodies of these units, checked; what is missing or damaged is reported together. */
  async #eachBody(
    units: readonly [string, IndexEntry][],
    each: (key: string, body: Buffer) => Promise<void>,
  ): Promise<void> {
    const gone = await eachBody(units, (number) => this.#path((this.#byNumber[number] as Book).name, UNITS), each);
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
  return { outcome, json: JSON.stringify(unitRecord(outcome, operation, requestId, at)) };
}

function bookPaths(dir: string): string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith(LINES))
    .sort()
    .map((path) => join(dir, path));
}
