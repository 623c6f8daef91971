import { randomUUID } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type {
  BookTotals,
  Claim,
  Claimed,
  Freshness,
  Intent,
  Journal,
  Landed,
  LandedAnswer,
  UnitOutcome,
  UnitRecord,
  UnknownOutcome,
} from '../../core/purchase/journal.js';
import { OverBudget, type Spend, type SpendCaps, type UsageGroup, type UsageLine } from '../../core/purchase/spend.js';
import type { Json } from '../../core/text/json.js';
import { reserve } from '../spend/budget.js';
import { FileCaps } from '../spend/file-caps.js';
import { SpendSums } from '../spend/spend-sums.js';
import type { Book } from './segment.js';
import type { BookLine, UnitEntry } from './segment-lines.js';
import type { UnitLine } from './segment-writer.js';
import { Claims } from './claims.js';
import { LandedUnits } from './landed-units.js';
import { type JournalDamage, recover, rewrite } from './mend-segment.js';
import { Reserve } from './reserve.js';
import { type DamagedBook, Shelf } from './segment-store.js';
import { UnitBodies } from './unit-bodies.js';
import { unitLine } from './unit-record.js';
import { Unsettled } from './pending-outcomes.js';

const ORPHANED = 'the process ended before an answer landed';

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
  readonly #team: string;
  readonly #now: () => number;
  readonly #caps: FileCaps;
  readonly #sums = new SpendSums();
  readonly #units = new LandedUnits();
  readonly #shelf: Shelf;
  readonly #bodies: UnitBodies;
  /** Of a journal that writes. */
  readonly #reserve: Reserve | null;
  readonly #claims = new Claims();
  readonly #unsettled = new Unsettled();
  /** Open intents that may still land. The owner of one that nobody follows now is ''. */
  readonly #intents = new Map<string, { readonly book: string; readonly owner: string }>();
  /** What was damaged when the journal was read. */
  damage: readonly JournalDamage[] = [];

  private constructor(dir: string, { writes, team = '', now = Date.now }: FileJournalOptions) {
    this.#reserve = writes ? new Reserve(join(dir, 'reserve')) : null;
    this.#shelf = new Shelf(dir, this.#sums, (book, line) => this.#take(book, line));
    this.#bodies = new UnitBodies(this.#units, this.#shelf);
    this.#team = team;
    this.#now = now;
    this.#caps = new FileCaps(join(dir, 'caps.json'));
  }

  static async open(dir: string, options: FileJournalOptions): Promise<FileJournal> {
    const journal = new FileJournal(dir, options);
    journal.damage = await journal.#mend(await journal.#shelf.read(), options);
    for (const book of journal.#shelf.books) await journal.#takeOver(book, options);
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
      const found = holder === owner || started ? undefined : this.#units.find(key, freshness);
      if (found) {
        landed.push(found);
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
    const { owner, book, operation, tier = '', keys, listMicros = intent.estimateMicros, deadline } = intent;
    const at = this.#now();
    const team = this.#team;
    const estimateMicros = reserve(this.#sums, this.#caps.get(team), team, intent, at);
    if (estimateMicros instanceof OverBudget) throw estimateMicros;
    const id = randomUUID();
    // Counted before it is written: what is asked meanwhile must find this money taken.
    this.#sums.opened(id, { team, book, operation, tier, at, estimateMicros, listMicros });
    this.#intents.set(id, { book, owner });
    try {
      await this.#reserve?.keep(this.#intents.size);
      await this.#shelf.append(book, [], () => ({
        t: 'intent',
        id,
        at,
        owner,
        op: operation,
        keys,
        est: estimateMicros,
        ...(listMicros === estimateMicros ? {} : { list: listMicros }),
        ...(tier === '' ? {} : { tier }),
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
    const book = intent && this.#shelf.find(intent.book)?.open.get(intentId);
    if (!intent || !book) throw new Error(`no open intent ${intentId}`);
    const units = answer.units.map((outcome) => toLine(outcome, book.op, answer.requestId, answer.fetchedAt));
    await this.#write(intent.book, units, (entries) => ({
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
    await this.#write(book, [], () => ({ t: 'note', id: intentId, at: this.#now(), facts }));
    this.#intents.set(intentId, { book, owner });
  }

  async miss(intentId: string, reason: string, charged: 'never' | 'maybe', came?: string | null): Promise<void> {
    const intent = this.#intents.get(intentId);
    if (!intent) return;
    await this.#write(intent.book, [], () => ({
      t: 'miss',
      id: intentId,
      at: this.#now(),
      why: reason,
      charged,
      ...(came ? { came } : {}),
    }));
    this.#intents.delete(intentId);
  }

  async settle(
    owner: string,
    book: string,
    operation: string,
    units: readonly UnitOutcome[],
    answer?: Pick<LandedAnswer, 'requestId' | 'fetchedAt'>,
  ): Promise<void> {
    const at = answer?.fetchedAt ?? this.#now();
    const lines = units.map((outcome) => toLine(outcome, operation, answer?.requestId ?? null, at));
    await this.#shelf.append(book, lines, (entries) => ({ t: 'settle', at, op: operation, units: entries }));
    this.#claims.giveBack(
      owner,
      units.map((unit) => unit.key),
    );
  }

  async release(owner: string): Promise<void> {
    try {
      for (const [id, intent] of this.#intents) {
        if (intent.owner !== owner) continue;
        if (this.#shelf.find(intent.book)?.started(id)) this.#intents.set(id, { ...intent, owner: '' });
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
    return keys.flatMap((key) => this.#units.find(key, freshness) ?? []);
  }

  unitFiles(book: string, keys: readonly string[], scratch: string): Promise<readonly string[]> {
    return this.#bodies.files(book, keys, scratch);
  }

  read(keys: readonly string[]): Promise<ReadonlyMap<string, UnitRecord>> {
    return this.#bodies.read(keys);
  }

  async prune(bookPrefix: string, before: number): Promise<number> {
    let pruned = 0;
    for (const book of this.#shelf.books) {
      if (!book.name.startsWith(bookPrefix) || book.open.size > 0 || this.#shelf.isWriting(book)) continue;
      const path = this.#shelf.unitFile(book.name);
      const written = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
      if (written === undefined || written >= before) continue;
      await rm(path);
      this.#units.prune(book.number);
      pruned++;
    }
    return pruned;
  }

  async totals(bookPrefix: string): Promise<BookTotals> {
    const unknown: UnknownOutcome[] = [];
    const sums = { requests: 0, unitsLanded: 0, costMicros: 0, listMicros: 0, openMicros: 0 };
    for (const book of this.#shelf.books) {
      if (!book.name.startsWith(bookPrefix)) continue;
      sums.requests += book.requests;
      sums.unitsLanded += book.unitsLanded;
      sums.costMicros += book.costMicros;
      sums.listMicros += book.listMicros;
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
    await this.#shelf.close();
    await this.#reserve?.close();
  }

  /** Writes what became of an intent, for which there is room. */
  async #write(
    book: string,
    units: readonly UnitLine[],
    line: (entries: readonly UnitEntry[]) => BookLine,
  ): Promise<void> {
    const append = () => this.#shelf.append(book, units, line);
    if (!this.#reserve) return append();
    const bytes = units.reduce((sum, { json }) => sum + Buffer.byteLength(json) + 1, 0);
    await this.#reserve.into(bytes, append);
  }

  /** Takes in again what damaged lines had said; whoever writes keeps a copy of the file and mends it. */
  async #mend(books: readonly DamagedBook[], { writes }: FileJournalOptions): Promise<JournalDamage[]> {
    const damage: JournalDamage[] = [];
    for (const { book, damaged, ends } of books) {
      const files = { lines: this.#shelf.lineFile(book.name), units: this.#shelf.unitFile(book.name) };
      const found = recover(book, files, damaged);
      for (const line of found.lines) this.#take(book, line);
      const mended = writes ? await rewrite(files, damaged, found, ends, this.#now()) : null;
      if (mended) this.#shelf.mended(book, mended.ends);
      const { adopted, gone } = found;
      damage.push({ file: files.lines, copy: mended?.copy ?? null, lines: damaged.length, adopted, gone });
    }
    return damage;
  }

  /** What a process that is gone left open: noted purchases run on, of the others nobody knows how they ended. */
  async #takeOver(book: Book, { writes, alone }: FileJournalOptions): Promise<void> {
    if (this.#shelf.hasUnits(book) && !existsSync(this.#shelf.unitFile(book.name))) this.#units.prune(book.number);
    for (const id of [...book.open.keys()]) {
      if (book.started(id)) {
        this.#intents.set(id, { book: book.name, owner: '' });
        continue;
      }
      const line: BookLine = { t: 'miss', id, at: this.#now(), why: ORPHANED, charged: 'maybe' };
      if (writes) await this.#shelf.append(book.name, [], () => line);
      else if (alone) this.#take(book, line);
    }
  }

  #take(book: Book, line: BookLine): void {
    const { landed, unknown, noted } = book.take(line);
    if ('id' in line) {
      this.#unsettled.lost(unknown, book, line.id);
      if (noted) this.#unsettled.noted(noted.keys, noted.found, book, line.id);
    }
    for (const entry of landed) {
      this.#units.add(entry, book.number, (line as { at: number }).at);
      this.#unsettled.landed(entry[0]);
    }
  }

  #bookOfLost(id: string): string | undefined {
    return this.#shelf.books.find((book) => book.lost(id))?.name;
  }
}

function toLine(outcome: UnitOutcome, operation: string, requestId: string | null, at: number): UnitLine {
  return { outcome, json: unitLine(outcome, operation, requestId, at) };
}
