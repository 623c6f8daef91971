import { randomUUID } from 'node:crypto';
import type { JournalReport } from '../../../core/purchase/activity.js';
import type { PurchaseHistory, UnitHistory } from '../../../core/purchase/attempts.js';
import type { ForgettingJournal } from '../../../core/purchase/forgotten.js';
import {
  BodiesGone,
  type Claim,
  type Claimed,
  ClaimLost,
  type Intent,
  type Journal,
  type JournalTotals,
  jobOf,
  type Landed,
  type LandedAnswer,
  type MissFacts,
  type UnitOutcome,
  type UnitRecord,
} from '../../../core/purchase/journal.js';
import { OverBudget, type Spend, type SpendCaps, type UsageGroup } from '../../../core/purchase/spend.js';
import type { Freshness } from '../../../core/row-job-schemas.js';
import type { Json } from '../../../core/text/json.js';
import { writePieces } from '../../../files/write-durably.js';
import { identifier, type Postgres } from '../../../postgres/index.js';
import {
  type ClaimRow,
  costOf,
  freshnessArgs,
  hex,
  type LandedRow,
  storable,
  toClaimed,
  toLanded,
  unitArgs,
} from './journal-values.js';
import { createPgForget, prunableBytes, pruneSegments, totalsOf } from './pg-forget.js';
import { createPgReport, createPgSpend, historyOf } from './pg-history.js';
import { isUnregistered, Notifier, ProcessHeartbeat } from './process-heartbeat.js';

/** SQLSTATE of the journal's functions: the owner has not claimed the units. */
const CLAIM_LOST = 'SF002';

/** Arguments of {@link PgJournal.open}. */
export interface PgJournalOptions {
  /** The team that pays: its caps apply, and its usage is counted. */
  readonly team: string;
  /** Silence in ms after which this process counts as dead; default 15 s. */
  readonly deadAfterMs?: number;
}

interface BoundRow {
  readonly scope: OverBudget['scope'];
  readonly cap: number;
  readonly remaining: number;
  readonly open: number;
  readonly resets_ms: number | null;
  readonly multiple: number;
  readonly unproven: boolean;
}

/**
 * The journal of many machines: tables of a PostgreSQL schema (see `storeSchema`), with one statement for each operation. Opening the
 * journal registers this process in the store. Claims of a dead process end, and its requests in flight become unknown outcomes. A late
 * answer to such a request still counts, with its cost and its units.
 */
export class PgJournal implements Journal, Spend, PurchaseHistory {
  readonly sendWithinMs: number;
  readonly #postgres: Postgres;
  readonly #schema: string;
  readonly #team: string;
  readonly #heartbeat: ProcessHeartbeat;
  readonly #spend: Spend;
  readonly #notifier: Notifier;
  readonly report: JournalReport;
  readonly forgetting: ForgettingJournal;
  /** Operations of the intents that this process has in flight. */
  readonly #operations = new Map<string, string>();

  private constructor(postgres: Postgres, team: string, heartbeat: ProcessHeartbeat) {
    this.#postgres = postgres;
    this.#schema = identifier(postgres.address.schema);
    this.#team = team;
    this.#heartbeat = heartbeat;
    this.sendWithinMs = heartbeat.sendWithinMs;
    this.#spend = createPgSpend(postgres, team);
    this.#notifier = new Notifier(postgres);
    this.report = createPgReport(postgres, team);
    this.forgetting = createPgForget(postgres);
  }

  /** Opens the journal. The caller closes `postgres` after the journal. */
  static async open(postgres: Postgres, { team, deadAfterMs }: PgJournalOptions): Promise<PgJournal> {
    return new PgJournal(postgres, team, await ProcessHeartbeat.enter(postgres, deadAfterMs));
  }

  /** Records that this process is a worker of a task queue, for its team. */
  works(queue: string): Promise<void> {
    return this.#heartbeat.works({ team: this.#team, queue });
  }

  /** The other living workers of a task queue, with their teams. */
  workersOn(queue: string): ReturnType<ProcessHeartbeat['workersOn']> {
    return this.#heartbeat.workersOn(queue);
  }

  async claim(keys: readonly string[], owner: string, freshness?: Freshness): Promise<Claim> {
    const wanted = [...new Set(keys)];
    if (wanted.length === 0) return { landed: [], mine: [], theirs: [] };
    const rows = await this.#heartbeat.as((id) =>
      this.#call<ClaimRow>('claim', [id, owner, wanted, ...freshnessArgs(freshness)]),
    );
    const found = new Map(rows.map((row) => [hex(row.key), row]));
    const landed: Landed[] = [];
    const mine: Claimed[] = [];
    const theirs: string[] = [];
    for (const key of wanted) {
      const row = found.get(key);
      if (!row) theirs.push(key);
      else if (row.fetched_ms === null) mine.push(toClaimed(row));
      else landed.push(toLanded(row));
    }
    return { landed, mine, theirs };
  }

  async intend(intent: Intent): Promise<string> {
    const { owner, segment, operation, tier = '', keys, estimateMicros, deadline, cap } = intent;
    const listMicros = intent.listMicros ?? estimateMicros;
    const id = randomUUID();
    const distinct = [...new Set(keys)];
    const bound = cap ? [jobOf(cap.bookPrefix), Math.floor(cap.limitMicros)] : [null, null];
    const [over] = await this.#holding((process) =>
      this.#call<BoundRow>('intend', [
        ...[id, process, this.#team, owner, segment, operation, storable(tier), distinct],
        ...[Math.ceil(estimateMicros), Math.ceil(listMicros), deadline],
        ...bound,
      ]),
    );
    if (over) throw new OverBudget(over.scope, over.cap, over.remaining, over.open, over.resets_ms, over);
    this.#operations.set(id, operation);
    return id;
  }

  async land(intentId: string, answer: LandedAnswer): Promise<void> {
    const { requestId, fetchedAt, units } = answer;
    const operation = this.#operations.get(intentId) ?? (await this.#operationOf(intentId));
    const [row] = await this.#call<{ given: number | null }>(
      'land',
      [intentId, storable(requestId), fetchedAt, costOf(units), ...unitArgs(units, operation, requestId, fetchedAt)],
      'given',
    );
    if (row?.given == null) throw new Error(`no intent ${intentId}`);
    this.#operations.delete(intentId);
    this.#notify(row.given);
  }

  async note(intentId: string, owner: string, facts: Json): Promise<void> {
    const note = storable(JSON.stringify(facts));
    const [row] = await this.#heartbeat.as((process) =>
      this.#call<{ known: boolean }>('note', [intentId, process, owner, note], 'known'),
    );
    if (!row?.known) throw new Error(`no intent ${intentId}`);
  }

  async miss(id: string, reason: string, charged: 'never' | 'maybe', reply: MissFacts = {}): Promise<void> {
    const { body = null, status = null, retryAfterMs = null } = reply;
    await this.#call('miss', [id, storable(reason), charged === 'maybe', storable(body), status, retryAfterMs]);
    this.#operations.delete(id);
  }

  async recordOutcomes(
    owner: string,
    segment: string,
    operation: string,
    units: readonly UnitOutcome[],
    answer?: Pick<LandedAnswer, 'requestId' | 'fetchedAt'>,
  ): Promise<void> {
    const id = randomUUID();
    const at = answer?.fetchedAt ?? Date.now();
    const [row] = await this.#holding((process) =>
      this.#call<{ given: number }>(
        'settle',
        [
          ...[id, process, this.#team, owner, segment, operation, at, costOf(units)],
          ...unitArgs(units, operation, answer?.requestId ?? null, at),
        ],
        'given',
      ),
    );
    this.#notify(row?.given ?? 0);
  }

  async release(owner: string): Promise<void> {
    const [row] = await this.#call<{ given: number }>('release', [owner], 'given');
    this.#notify(row?.given ?? 0);
  }

  async waitForAny(keys: readonly string[], signal?: AbortSignal): Promise<void> {
    const wanted = [...new Set(keys)];
    for (;;) {
      signal?.throwIfAborted();
      const seen = this.#notifier.count;
      const [row] = await this.#postgres.query<{ held: number }>(
        `SELECT count(*)::integer AS held FROM ${this.#schema}.claims WHERE key = ANY ($1)`,
        [wanted],
        { signal },
      );
      if (wanted.length === 0 || (row?.held ?? 0) < wanted.length) return;
      await this.#notifier.next(seen, signal);
    }
  }

  async isEmpty(): Promise<boolean> {
    const [row] = await this.#postgres.query<{ empty: boolean }>(
      `SELECT NOT EXISTS (SELECT FROM ${this.#schema}.units) AND NOT EXISTS (SELECT FROM ${this.#schema}.purchases) AS empty`,
    );
    return row?.empty === true;
  }

  async lookup(keys: readonly string[], freshness?: Freshness): Promise<readonly Landed[]> {
    if (keys.length === 0) return [];
    const rows = await this.#call<LandedRow>('landed', [[...new Set(keys)], ...freshnessArgs(freshness)]);
    const found = new Map(rows.map((row) => [hex(row.key), row]));
    return keys.flatMap((key) => {
      const row = found.get(key);
      return row ? [toLanded(row)] : [];
    });
  }

  /** Does nothing: the database verifies its pages itself, and knows which bodies are gone. */
  async verify(): Promise<void> {}

  async unitFiles(_book: string, keys: readonly string[], scratch: string): Promise<readonly string[]> {
    if (keys.length === 0) return [];
    await writeBodies(this.#postgres, keys, scratch);
    return [scratch];
  }

  async read(keys: readonly string[]): Promise<ReadonlyMap<string, UnitRecord>> {
    const records = new Map<string, UnitRecord>();
    await eachBody(this.#postgres, keys, 'skip', (body) => {
      const record = JSON.parse(body) as UnitRecord;
      records.set(record.key, record);
    });
    return records;
  }

  history = (
    keys: readonly string[],
    jobs: readonly string[],
    texts = false,
  ): Promise<ReadonlyMap<string, UnitHistory>> => historyOf(this.#postgres, keys, jobs, texts);
  prune = (segmentPrefix: string, before: number): Promise<number> =>
    pruneSegments(this.#postgres, segmentPrefix, before);
  /** Bytes that `prune` with the same arguments would remove. */
  prunableBytes = (segmentPrefix: string, before: number): Promise<number> =>
    prunableBytes(this.#postgres, segmentPrefix, before);
  totals = (segmentPrefix: string, since?: number): Promise<JournalTotals> =>
    totalsOf(this.#postgres, segmentPrefix, since);
  caps = (): Promise<SpendCaps> => this.#spend.caps();
  setCaps = (caps: Partial<SpendCaps>): Promise<SpendCaps> => this.#spend.setCaps(caps);
  spent = () => this.#spend.spent();
  counted = (job: string): Promise<number> => this.#spend.counted(job);
  usage = (by: UsageGroup, since?: number, until?: number) => this.#spend.usage(by, since, until);

  async close(): Promise<void> {
    await this.#heartbeat.leave();
    this.#notifier.notify();
    await this.#notifier.close();
  }

  #call<R>(name: string, args: readonly unknown[], as = name): Promise<R[]> {
    const parameters = args.map((_, index) => `$${index + 1}`).join(', ');
    return this.#postgres.query<R>(`SELECT * FROM ${this.#schema}.${name}(${parameters}) AS ${as}`, args, {
      isCall: true,
    });
  }

  /** Runs work that needs the claims of an owner. Throws `ClaimLost` if the claims have ended. */
  async #holding<T>(work: (process: string) => Promise<T>): Promise<T> {
    try {
      return await this.#heartbeat.as(work);
    } catch (error) {
      if (isUnregistered(error) || (error as { code?: unknown }).code === CLAIM_LOST) throw new ClaimLost();
      throw error;
    }
  }

  async #operationOf(intentId: string): Promise<string> {
    const [row] = await this.#postgres.query<{ operation: string }>(
      `SELECT operation FROM ${this.#schema}.purchases WHERE id = $1`,
      [intentId],
    );
    if (!row) throw new Error(`no intent ${intentId}`);
    return row.operation;
  }

  #notify(released: number): void {
    if (released > 0) this.#notifier.notify();
  }
}

/** Size of a batch of bodies in memory; a larger body is a batch of its own. */
const BATCH_BYTES = 4 * 1024 * 1024;

/**
 * Calls `each` with the bodies of landed units (one line of JSON each), in batches of a few MB. `unknown` decides whether unknown keys are
 * skipped or refused.
 */
async function eachBody(
  postgres: Postgres,
  keys: readonly string[],
  unknown: 'skip' | 'refuse',
  each: (body: string) => Promise<void> | void,
): Promise<void> {
  const units = `${identifier(postgres.address.schema)}.units`;
  const wanted = [...new Set(keys)];
  const sizes = await postgres.query<{ key: string; bytes: number | null }>(
    `SELECT replace(key::text, '-', '') AS key, octet_length(body) AS bytes FROM ${units} WHERE key = ANY ($1) ORDER BY landed_at, key`,
    [wanted],
  );
  if (unknown === 'refuse' && sizes.length < wanted.length) {
    const known = new Set(sizes.map(({ key }) => key));
    throw new Error(`unit ${wanted.find((key) => !known.has(key))} has not landed`);
  }
  const gone = sizes.filter(({ bytes }) => bytes === null).map(({ key }) => key);
  if (gone.length > 0) throw new BodiesGone(gone);
  let batch: string[] = [];
  let bytes = 0;
  const flush = async () => {
    const rows = await postgres.query<{ key: string; body: string | null }>(
      `SELECT replace(key::text, '-', '') AS key, body FROM ${units} WHERE key = ANY ($1)`,
      [batch],
    );
    for (const { key, body } of rows) {
      // The body was pruned between the two queries.
      if (body === null) throw new BodiesGone([key]);
      await each(body);
    }
    batch = [];
    bytes = 0;
  };
  for (const size of sizes) {
    if (bytes + (size.bytes ?? 0) > BATCH_BYTES && batch.length > 0) await flush();
    batch.push(size.key);
    bytes += size.bytes ?? 0;
  }
  if (batch.length > 0) await flush();
}

/** Writes the bodies of these units to a file of JSON lines (mode 0600), replacing an existing file. */
async function writeBodies(postgres: Postgres, keys: readonly string[], path: string): Promise<void> {
  await writePieces(path, (write) => eachBody(postgres, keys, 'refuse', (body) => write(`${body}\n`)));
}
