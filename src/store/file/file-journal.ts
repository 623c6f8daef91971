import { randomUUID } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { SlotOwner } from '../../core/limiter/slots.js';
import type { JournalReport } from '../../core/purchase/activity.js';
import { ownReasons, type PurchaseHistory, type UnitHistory } from '../../core/purchase/attempts.js';
import { FORGOTTEN_SEGMENT, type ForgettingJournal, forgottenOutcome } from '../../core/purchase/forgotten.js';
import type {
  Claim,
  Claimed,
  Intent,
  Journal,
  JournalTotals,
  Landed,
  LandedAnswer,
  MissFacts,
  UnitOutcome,
  UnitRecord,
  UnknownOutcome,
} from '../../core/purchase/journal.js';
import { OverBudget, type Spend, type SpendCaps, type UsageGroup, type UsageLine } from '../../core/purchase/spend.js';
import type { Freshness } from '../../core/row-job-schemas.js';
import type { Json } from '../../core/text/json.js';
import { Claims, UnlandedUnits } from './claims.js';
import { LandedUnits } from './landed-units.js';
import { type JournalDamage, recover, rewrite } from './mend-segment.js';
import { Reserve } from './reserve.js';
import { readSegment, type Segment } from './segment.js';
import { type DamagedSegment, SegmentStore } from './segment-store.js';
import { FileCaps, reserve, SpendSums } from './spend.js';
import { removeFileBodies, searchBodies, UnitBodies } from './unit-bodies.js';
import { fileActivity, readHistory } from './unit-history.js';
import type { SegmentLine, UnitEntry } from './unit-record.js';
import { bytesOf, toLines, type UnitLine } from './unit-record.js';

/** Number of units in one line. */
const FORGOTTEN_AT_ONCE = 1000;

export interface FileJournalOptions {
  /**
   * Whether this journal writes. If true, the caller holds the folder's lock. Then all open intents belong to dead processes, and are
   * recorded as unknown outcomes.
   */
  readonly writes: boolean;
  /**
   * For a journal that only reads: whether no process holds the lock. If true, open intents count as unknown outcomes, otherwise as calls
   * in flight.
   */
  readonly alone?: boolean;
  /** The team whose purchases count for caps and usage. Purchases of other teams in the folder do not count. */
  readonly team?: string;
  /** Clock, Unix ms, that defines the days and months of caps. */
  readonly now?: () => number;
}

/**
 * The journal of one machine: a folder of segments. A segment is an append-only file of lines with checksums, and a file of bodies. The
 * process that holds the lock of the folder writes; other processes may read.
 */
export class FileJournal implements Journal, Spend, PurchaseHistory {
  readonly #dir: string;
  readonly #team: string;
  readonly #now: () => number;
  readonly #caps: FileCaps;
  readonly #sums = new SpendSums();
  readonly #units = new LandedUnits();
  readonly #segments: SegmentStore;
  readonly #bodies: UnitBodies;
  /** The disk space for answers; null for a journal that only reads. */
  readonly #reserve: Reserve | null;
  readonly #claims = new Claims();
  readonly #unlanded = new UnlandedUnits();
  /** Open intents that may still land. The owner is '' if no process follows the intent now. */
  readonly #intents = new Map<string, { readonly segment: string; readonly owner: string }>();
  /** Damage that was found when the journal was read. */
  damage: readonly JournalDamage[] = [];

  private constructor(dir: string, { writes, team = '', now = Date.now }: FileJournalOptions) {
    this.#reserve = writes ? new Reserve(join(dir, 'reserve')) : null;
    this.#segments = new SegmentStore(dir, this.#sums, (segment, line) => this.#take(segment, line));
    this.#bodies = new UnitBodies(this.#units, this.#segments);
    this.#dir = dir;
    this.#team = team;
    this.#now = now;
    this.#caps = new FileCaps(join(dir, 'caps.json'));
  }

  static async open(dir: string, options: FileJournalOptions): Promise<FileJournal> {
    const journal = new FileJournal(dir, options);
    journal.damage = await journal.#mend(await journal.#segments.read(), options);
    for (const segment of journal.#segments.segments) await journal.#takeOver(segment, options);
    return journal;
  }

  async claim(keys: readonly string[], owner: string, freshness?: Freshness): Promise<Claim> {
    // Another process may have found damage that this process does not know of, so the bodies are verified before any unit is bought again.
    if (freshness?.rebuyBefore !== undefined) await this.#bodies.verify(keys);
    const landed: Landed[] = [];
    const mine: Claimed[] = [];
    const theirs: string[] = [];
    for (const key of new Set(keys)) {
      const holder = this.#claims.ownerOf(key);
      if (holder !== undefined && holder !== owner) {
        theirs.push(key);
        continue;
      }
      const claimed = this.#unlanded.of(key);
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
    const { owner, segment, operation, tier = '', keys, listMicros = intent.estimateMicros, deadline } = intent;
    const at = this.#now();
    const team = this.#team;
    const estimateMicros = reserve(this.#sums, this.#caps.get(team), team, intent, at, (id, name) =>
      this.#isLeftRunning(id, name),
    );
    if (estimateMicros instanceof OverBudget) throw estimateMicros;
    const id = randomUUID();
    // The intent is counted before it is written, so that parallel intents see its amount as reserved.
    this.#sums.opened(id, { team, segment, operation, tier, at, estimateMicros, listMicros });
    this.#intents.set(id, { segment, owner });
    try {
      await this.#reserve?.keep(this.#intents.size);
      await this.#segments.append(segment, [], () => ({
        t: 'intent',
        id,
        at,
        owner,
        op: operation,
        keys,
        est: estimateMicros,
        list: listMicros,
        tier,
        deadline,
        team,
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
    const segment = intent && this.#segments.find(intent.segment)?.open.get(intentId);
    if (!intent || !segment) throw new Error(`no open intent ${intentId}`);
    const units = () => toLines(answer.units, segment.op, answer.requestId, answer.fetchedAt);
    await this.#write(intent.segment, units, (entries) => ({
      t: 'answer',
      id: intentId,
      at: answer.fetchedAt,
      req: answer.requestId,
      units: entries,
    }));
    this.#intents.delete(intentId);
    this.#claims.release(
      intent.owner,
      answer.units.map((unit) => unit.key),
    );
  }

  async note(intentId: string, owner: string, facts: Json): Promise<void> {
    const segment = this.#intents.get(intentId)?.segment ?? this.#segmentOfLost(intentId);
    if (segment === undefined) throw new Error(`no open intent ${intentId}`);
    await this.#write(
      segment,
      () => [],
      () => ({ t: 'note', id: intentId, at: this.#now(), facts }),
    );
    this.#intents.set(intentId, { segment, owner });
  }

  async miss(id: string, reason: string, charged: 'never' | 'maybe', reply?: MissFacts): Promise<void> {
    const intent = this.#intents.get(id);
    if (!intent) return;
    const line = () => this.#missOf(id, reason, charged, reply);
    await this.#write(intent.segment, () => [], line);
    this.#intents.delete(id);
  }

  async recordOutcomes(
    owner: string,
    segment: string,
    operation: string,
    units: readonly UnitOutcome[],
    answer?: Pick<LandedAnswer, 'requestId' | 'fetchedAt'>,
  ): Promise<void> {
    const at = answer?.fetchedAt ?? this.#now();
    const lines = toLines(units, operation, answer?.requestId ?? null, at);
    await this.#segments.append(segment, lines, (entries) => ({ t: 'settle', at, op: operation, units: entries }));
    this.#claims.release(
      owner,
      units.map((unit) => unit.key),
    );
  }

  async release(owner: string): Promise<void> {
    try {
      for (const [id, intent] of this.#intents) {
        if (intent.owner !== owner) continue;
        if (this.#segments.find(intent.segment)?.started(id)) this.#intents.set(id, { ...intent, owner: '' });
        else await this.miss(id, ownReasons.givenUp, 'maybe');
      }
    } finally {
      this.#claims.release(owner, this.#claims.of(owner));
    }
  }

  waitForAny(keys: readonly string[], signal?: AbortSignal): Promise<void> {
    return this.#claims.waitForAny(keys, signal);
  }

  async isEmpty(): Promise<boolean> {
    return this.#segments.segments.length === 0;
  }

  async lookup(keys: readonly string[], freshness?: Freshness): Promise<readonly Landed[]> {
    return keys.flatMap((key) => this.#units.find(key, freshness) ?? []);
  }

  verify(keys: readonly string[]): Promise<void> {
    return this.#bodies.verify(keys);
  }

  unitFiles(segment: string, keys: readonly string[], scratch: string): Promise<readonly string[]> {
    return this.#bodies.files(segment, keys, scratch);
  }

  read(keys: readonly string[]): Promise<ReadonlyMap<string, UnitRecord>> {
    return this.#bodies.read(keys);
  }

  async history(
    keys: readonly string[],
    jobs: readonly string[],
    texts = false,
  ): Promise<ReadonlyMap<string, UnitHistory>> {
    return readHistory({ segments: this.#segments, units: this.#units }, keys, jobs, texts);
  }

  async prune(segmentPrefix: string, before: number): Promise<number> {
    const segments = this.#prunable(segmentPrefix, before);
    for (const segment of segments) {
      await rm(this.#segments.unitFile(segment.name));
      this.#units.prune(segment.number);
    }
    return segments.length;
  }

  /** Bytes that `prune` with the same arguments would remove. */
  async prunableBytes(segmentPrefix: string, before: number): Promise<number> {
    const files = this.#prunable(segmentPrefix, before).map(({ name }) => this.#segments.unitFile(name));
    return files.reduce((sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0), 0);
  }

  #prunable(segmentPrefix: string, before: number): readonly Segment[] {
    return this.#segments.segments.filter((segment) => {
      if (!segment.name.startsWith(segmentPrefix) || segment.open.size > 0 || this.#segments.isWriting(segment))
        return false;
      const written = statSync(this.#segments.unitFile(segment.name), { throwIfNoEntry: false })?.mtimeMs;
      return written !== undefined && written < before;
    });
  }

  async totals(segmentPrefix: string, since = 0): Promise<JournalTotals> {
    const unknown: UnknownOutcome[] = [];
    const sums = { requests: 0, unitsLanded: 0, costMicros: 0, listMicros: 0, openMicros: 0, openSinceMicros: 0 };
    for (const segment of this.#segments.segments) {
      if (!segment.name.startsWith(segmentPrefix)) continue;
      sums.requests += segment.requests;
      sums.unitsLanded += segment.unitsLanded;
      sums.costMicros += segment.costMicros;
      sums.listMicros += segment.listMicros;
      sums.openMicros += segment.openMicrosSince(0);
      sums.openSinceMicros += segment.openMicrosSince(since);
      unknown.push(...segment.unknown);
    }
    return { ...sums, unknown };
  }

  async caps(): Promise<SpendCaps> {
    return this.#caps.get(this.#team);
  }

  setCaps(caps: Partial<SpendCaps>): Promise<SpendCaps> {
    return this.#caps.set(this.#team, caps);
  }

  async spent() {
    const now = this.#now();
    return { day: this.#sums.day(this.#team, now), month: this.#sums.month(this.#team, now) };
  }

  async counted(job: string): Promise<number> {
    return this.#sums.counted(job);
  }

  async usage(by: UsageGroup, since?: number, until?: number): Promise<readonly UsageLine[]> {
    return this.#sums.usage(this.#team, by, since, until);
  }

  readonly forgetting: ForgettingJournal = {
    forget: async (keys) => {
      const left = [...new Set(keys)].filter((key) => !this.#units.forgotten.has(key));
      for (let from = 0; from < left.length; from += FORGOTTEN_AT_ONCE) {
        const outcomes = left.slice(from, from + FORGOTTEN_AT_ONCE).map(forgottenOutcome);
        await this.recordOutcomes('', FORGOTTEN_SEGMENT, 'forgotten', outcomes);
      }
    },
    forgotten: async () => this.#units.forgotten,
    keysOf: async (job) => {
      const keys = new Set<string>();
      const take: Parameters<typeof readSegment>[1] = (line) => {
        if (line.t === 'intent') for (const key of line.keys) keys.add(key);
        if (line.t === 'answer' || line.t === 'settle') for (const [key] of line.units) keys.add(key);
      };
      for (const { name, read } of this.#files()) if (name.startsWith(`${job}/`)) read(take);
      return [...keys];
    },
    search: (text, each) => searchBodies(this.#dir, text, each),
    removeBodies: (keys, dryRun) => removeFileBodies(this.#dir, keys, dryRun),
    // The bodies were overwritten.
    purge: async () => null,
  };

  readonly report: JournalReport = {
    activity: (query) => fileActivity(this.#files(), this.#team, query),
    days: async (job, since, until) => this.#sums.days(this.#team, job, since, until),
  };

  /** The files of lines, for readers that read them again instead of keeping every purchase in memory. */
  #files() {
    return this.#segments.segments.map(({ name }) => ({
      name,
      read: (each: Parameters<typeof readSegment>[1]) => void readSegment(this.#segments.lineFile(name), each),
    }));
  }

  async close(): Promise<void> {
    await this.#segments.close();
    await this.#reserve?.close();
  }

  /** Writes the outcome of an intent into the disk space that was reserved for it. */
  async #write(
    segment: string,
    units: () => readonly UnitLine[],
    line: (entries: readonly UnitEntry[]) => SegmentLine,
  ): Promise<void> {
    let bytes = 0;
    const append = () => {
      const lines = units();
      bytes = bytesOf(lines);
      return this.#segments.append(segment, lines, line);
    };
    if (!this.#reserve) return append();
    await this.#reserve.into(() => bytes, append);
  }

  /** Recovers the contents of damaged lines. A journal that writes also repairs the file and keeps a copy of the damaged file. */
  async #mend(segments: readonly DamagedSegment[], { writes, alone }: FileJournalOptions): Promise<JournalDamage[]> {
    const damage: JournalDamage[] = [];
    for (const { segment, damaged, ends } of segments) {
      // Another process may be writing the end at this moment.
      if (damaged.length === 0 && !writes && !alone) continue;
      const files = { lines: this.#segments.lineFile(segment.name), units: this.#segments.unitFile(segment.name) };
      const found = recover(segment, files, damaged);
      if (damaged.length === 0 && found.adopted === 0) continue;
      for (const line of found.lines) this.#take(segment, line);
      const mended = writes ? await rewrite(files, damaged, found, ends, this.#now()) : null;
      if (mended) this.#segments.mended(segment, mended.ends);
      const { adopted, gone, lostLines } = found;
      if (damaged.length === 0 && !lostLines) continue;
      damage.push({ file: files.lines, copy: mended?.copy ?? null, lines: damaged.length, adopted, gone });
    }
    return damage;
  }

  /**
   * Handles intents that a dead process left open. Purchases with a note continue at the service; all other purchases become unknown
   * outcomes.
   */
  async #takeOver(segment: Segment, { writes, alone }: FileJournalOptions): Promise<void> {
    if (this.#segments.hasUnits(segment) && !existsSync(this.#segments.unitFile(segment.name)))
      this.#units.prune(segment.number);
    for (const id of [...segment.open.keys()]) {
      if (segment.started(id)) {
        this.#intents.set(id, { segment: segment.name, owner: '' });
        continue;
      }
      const line = this.#missOf(id, ownReasons.processEnded, 'maybe');
      if (writes) await this.#segments.append(segment.name, [], () => line);
      else if (alone) this.#take(segment, line);
    }
  }

  #missOf(id: string, why: string, charged: 'never' | 'maybe', reply: MissFacts = {}): SegmentLine {
    const [came, status, wait] = [reply.body ?? undefined, reply.status ?? undefined, reply.retryAfterMs ?? undefined];
    const est = charged === 'maybe' ? this.#sums.lostMicros(id) : undefined;
    return { t: 'miss', id, at: this.#now(), why, charged, est, came, status, wait };
  }

  #take(segment: Segment, line: SegmentLine): void {
    const { landed, unknown, noted } = segment.take(line);
    if ('id' in line) {
      this.#unlanded.lost(unknown, segment, line.id);
      if (noted) this.#unlanded.noted(noted.keys, noted.found, segment, line.id);
    }
    for (const entry of landed) {
      this.#units.add(entry, segment.number, (line as { at: number }).at);
      this.#unlanded.landed(entry[0]);
    }
  }

  /** The slots that runs at the service hold: the purchases of this team with the operation that were started and have not ended. */
  slotsOf(operation: string): readonly SlotOwner[] {
    const held: SlotOwner[] = [];
    for (const segment of this.#segments.segments) {
      for (const [id, { op, team, keys, at }] of segment.open) {
        const runId = (segment.started(id)?.facts as { readonly run?: unknown } | null | undefined)?.run;
        if (op !== operation || team !== this.#team || typeof runId !== 'string') continue;
        held.push(...keys.map((owner) => ({ owner, runId, takenAt: at })));
      }
    }
    return held.sort((a, b) => a.takenAt - b.takenAt);
  }

  /** Whether the unit of an open purchase has ended since the intent, and no owner claims the unit. */
  #isLeftRunning(id: string, segment: string): boolean {
    const intent = this.#segments.find(segment)?.open.get(id);
    if (!intent || intent.keys.some((key) => this.#claims.ownerOf(key) !== undefined)) return false;
    return intent.keys.some((key) => (this.#units.get(key)?.at ?? 0) >= intent.at);
  }

  #segmentOfLost(id: string): string | undefined {
    return this.#segments.segments.find((segment) => segment.lost(id))?.name;
  }
}
