import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { CodedError } from '../../core/errors/coded-error.js';
import type { BucketView, Grant, RateCost } from '../../core/limiter/limiter.js';
import { bucketsFor, type RateBucket, type RateProfile, wholeUnits } from '../../core/limiter/rate.js';
import { type BucketState, bucketView, type QueueEntry, stillWaits } from '../../core/limiter/rate-queue.js';
import { BRIEF_MS, identifier, type Postgres } from '../../postgres/index.js';
import type { Block, GrantedStart, RateSource, Wanted } from '../limiter/rate-source.js';

/** A row of `limiter_buckets`. */
interface BucketRow extends Omit<BucketState, 'turns' | 'backpressure' | 'backpressureAt' | 'guardAt'> {
  readonly scope: string;
  readonly name: string;
  readonly slack: number;
  readonly slack_at: number;
  readonly guard_at: number;
  readonly turns: readonly QueueEntry[];
}

/** View of a bucket from its row; a bucket without a row is unused. */
function viewOf(rows: readonly BucketRow[], bucket: RateBucket, scope: string, now: number): BucketView {
  const row = rows.find((one) => one.scope === scope && one.name === bucket.name);
  if (row)
    return bucketView(
      bucket,
      { ...row, backpressure: row.slack, backpressureAt: row.slack_at, guardAt: row.guard_at },
      now,
    );
  return { name: bucket.name, qps: bucket.qps, effectiveQps: wholeUnits(bucket), used: 0 };
}

/** Number of calls that wait in other processes. A queue that waits for two buckets is counted once. */
function waitingElsewhere(rows: readonly BucketRow[], me: string, now: number): number {
  const others = rows
    .flatMap(({ turns }) => turns)
    .filter((turn) => stillWaits(turn, now) && !turn.who.startsWith(`${me}/`));
  return [...new Map(others.map(({ who, waiting }) => [who, waiting])).values()].reduce((sum, count) => sum + count, 0);
}

/** Differences up to this time come from reading two clocks one after the other. Such differences do not show that a clock was set. */
const SLOP_MS = 2;

/**
 * Converts between the database's clock (Unix ms) and this process's monotonic clock. Each answer contains the database's time at a moment
 * between request and answer, so the fastest answer gives the most exact offset. If a later answer contradicts the offset, a clock was set
 * or drifted, and the offset of that answer is used.
 */
class LimiterClock {
  #offset = 0;
  #roundTrip = Number.POSITIVE_INFINITY;

  observe(askedAt: number, answeredAt: number, databaseNow: number): void {
    const [least, most] = [databaseNow - answeredAt, databaseNow - askedAt];
    const contradicts = this.#offset < least - SLOP_MS || this.#offset > most + SLOP_MS;
    if (!contradicts && answeredAt - askedAt > this.#roundTrip) return;
    this.#offset = (least + most) / 2;
    this.#roundTrip = answeredAt - askedAt;
  }

  toLocal(databaseTime: number): number {
    return databaseTime - this.#offset;
  }

  toDatabase(localTime: number): number {
    return localTime + this.#offset;
  }
}

/** Interval at which the database is asked for a block while a granted call waits for its start, because a notification may be lost. */
const POLL_MS = 120;
/** Longest wait for the answer to a view, in ms. After this time, the view shows the last known state. */
const VIEW_WAIT_MS = 1000;
/** Age up to which a view is reused. */
const VIEW_AGE_MS = 200;

/** Arguments of the limiter. */
export interface PgLimiterOptions {
  readonly postgres: Postgres;
  /** Id of the team, which all its processes share. The id contains the service, because a key at another origin is another team. */
  readonly team: string;
  /** Fingerprint of this process's key, for limits of a single key. */
  readonly key: string;
  readonly profile: RateProfile;
}

/** Columns that all of the limiter's functions return. */
interface Answer {
  readonly now_ms: number;
  readonly blocked_since: number | null;
  readonly blocked_until: number | null;
  readonly block_reason: string | null;
}

/** The team's rings in PostgreSQL, by the database's clock. While the database cannot be reached, all calls wait. */
export class PgRateSource implements RateSource {
  readonly profile: RateProfile;
  readonly #postgres: Postgres;
  readonly #schema: string;
  readonly #team: string;
  readonly #key: string;
  readonly #me = randomUUID();
  readonly #clock = new LimiterClock();
  readonly #closed = new AbortController();
  readonly #limits = { signal: this.#closed.signal, statementMs: BRIEF_MS };
  readonly #callLimits = { ...this.#limits, isCall: true };
  #block: Block | null = null;
  /** The time since which the database has the latest block of this process; infinite while it is being written. */
  #heldAt = Number.NEGATIVE_INFINITY;
  #updatedAt = Number.NEGATIVE_INFINITY;
  #listening: Promise<() => Promise<void>> | null = null;
  /** Latest start of a granted call (`performance.now()`). */
  #grantedUntil = 0;
  #poll: NodeJS.Timeout | undefined;
  #viewed: { at: number; buckets: readonly BucketView[]; waiting: number };
  #viewing: Promise<void> | null = null;

  constructor({ postgres, team, key, profile }: PgLimiterOptions) {
    this.#postgres = postgres;
    this.#schema = identifier(postgres.address.schema);
    this.#team = team;
    this.#key = key;
    this.profile = profile;
    const buckets = profile.buckets.map(({ name, qps }) => ({ name, qps, effectiveQps: qps, used: 0 }));
    this.#viewed = { at: Number.NEGATIVE_INFINITY, buckets, waiting: 0 };
  }

  get block(): Block | null {
    return this.#block;
  }

  async ask({ rateCost, queue, count, margin, queued }: Wanted): Promise<{ starts: GrantedStart[]; comeAt: number }> {
    this.#listening ??= this.#listen();
    const { scopes, names, limits } = this.#address(
      rateCost.weight > 0 ? bucketsFor(this.profile, rateCost.rateClass) : [],
    );
    const { starts: times, come_at } = await this.#call<{ starts: number[]; come_at: number }>(
      'ask($1, $2::text[], $3::text[], $4::integer[], $5, $6, $7, $8, $9)',
      [this.#team, scopes, names, limits, `${this.#me}/${queue}`, rateCost.weight, count, margin, queued],
    );
    const starts = times.map((reservedAt) => ({ reservedAt, startAt: this.#clock.toLocal(reservedAt) }));
    const last = starts.at(-1);
    if (last) this.#watch(last.startAt);
    return { starts, comeAt: this.#clock.toLocal(come_at) };
  }

  late({ rateCost, reservedAt }: Grant, startedAt: number): void {
    const { scopes, names } = this.#address(bucketsFor(this.profile, rateCost.rateClass));
    const values = [scopes, names, reservedAt, this.#clock.toDatabase(startedAt), rateCost.weight];
    this.#runInBackground('late($1::text[], $2::text[], $3, $4, $5)', values);
  }

  refused(rateCost: RateCost): void {
    const { scopes, names, limits } = this.#address(bucketsFor(this.profile, rateCost.rateClass));
    this.#runInBackground('refused($1::text[], $2::text[], $3::integer[])', [scopes, names, limits]);
  }

  async hold(block: Block): Promise<void> {
    this.#block = block;
    this.#heldAt = Number.POSITIVE_INFINITY;
    try {
      if (this.#updatedAt < 0) await this.#refresh();
      const until = this.#clock.toDatabase(block.until);
      await this.#postgres.query(
        `SELECT ${this.#schema}.limiter_block($1, $2, $3)`,
        [this.#team, until, block.reason],
        this.#callLimits,
      );
    } finally {
      if (this.#block === block) this.#heldAt = performance.now();
    }
  }

  async lift(): Promise<void> {
    await this.#postgres.query(`SELECT ${this.#schema}.limiter_unblock($1)`, [this.#team], this.#callLimits);
    this.#block = null;
  }

  async poll(): Promise<{ buckets: readonly BucketView[]; waiting: number }> {
    if (performance.now() - this.#viewed.at > VIEW_AGE_MS) {
      this.#viewing ??= this.#read()
        .catch(() => undefined)
        .finally(() => {
          this.#viewing = null;
        });
      await Promise.race([this.#viewing, delay(VIEW_WAIT_MS, undefined, { ref: false })]);
    }
    return this.#viewed;
  }

  async close(): Promise<void> {
    this.#closed.abort(new Error('The limiter was closed'));
    clearInterval(this.#poll);
    const unlisten = await this.#listening;
    await unlisten?.();
  }

  /** The buckets by their names in the database, in the order in which all processes lock buckets. */
  #address(buckets: readonly RateBucket[]) {
    const sorted = buckets
      .map((bucket) => ({ scope: this.#scopeOf(bucket), name: bucket.name, limit: wholeUnits(bucket) }))
      .sort((a, b) => (a.scope + a.name < b.scope + b.name ? -1 : 1));
    return {
      scopes: sorted.map(({ scope }) => scope),
      names: sorted.map(({ name }) => name),
      limits: sorted.map(({ limit }) => limit),
    };
  }

  #scopeOf(bucket: RateBucket): string {
    return bucket.of === 'key' ? `${this.#team}/${this.#key}` : this.#team;
  }

  async #read(): Promise<void> {
    await this.#refresh();
    const now = this.#clock.toDatabase(performance.now());
    const rows = await this.#postgres.query<BucketRow>(
      `SELECT scope, name, ring, margin, slack, slack_at, guard, guard_at, to_jsonb(turns) AS turns
         FROM ${this.#schema}.limiter_buckets WHERE scope = ANY ($1::text[])`,
      [[this.#team, `${this.#team}/${this.#key}`]],
      this.#limits,
    );
    const buckets = this.profile.buckets.map((bucket) => viewOf(rows, bucket, this.#scopeOf(bucket), now));
    this.#viewed = { at: performance.now(), buckets, waiting: waitingElsewhere(rows, this.#me, now) };
  }

  #listen(): Promise<() => Promise<void>> {
    const refresh = () => this.#refreshInBackground();
    return this.#postgres.listen('searchflow_limiter', (team) => team === this.#team && refresh(), refresh);
  }

  /** Polls for a block until the time `until`. */
  #watch(until: number): void {
    this.#grantedUntil = Math.max(this.#grantedUntil, until);
    this.#poll ??= setInterval(() => {
      const now = performance.now();
      if (now > this.#grantedUntil) {
        clearInterval(this.#poll);
        this.#poll = undefined;
      } else if (now - this.#updatedAt > POLL_MS / 2) {
        this.#refreshInBackground();
      }
    }, POLL_MS);
  }

  /** Updates the block in the background. If the update fails, the next request reports the reason. */
  #refreshInBackground(): void {
    void this.#refresh().catch(() => undefined);
  }

  async #refresh(): Promise<void> {
    await this.#call('look($1)', [this.#team]);
  }

  /**
   * Runs a statement in the background. A failure is ignored: it means that the database cannot be reached, and then the rings in the
   * database will be outdated anyway.
   */
  #runInBackground(call: string, values: readonly unknown[]): void {
    this.#postgres.query(`SELECT ${this.#schema}.limiter_${call}`, values, this.#callLimits).catch(() => undefined);
  }

  async #call<R>(call: string, values: readonly unknown[]): Promise<R & Answer> {
    const askedAt = performance.now();
    const text = `SELECT * FROM ${this.#schema}.limiter_${call}`;
    const [answer] = await this.#postgres.query<R & Answer>(text, values, this.#callLimits);
    if (!answer) throw new CodedError('postgres-unreachable', 'The limiter got no answer from PostgreSQL');
    this.#updatedAt = performance.now();
    this.#clock.observe(askedAt, this.#updatedAt, answer.now_ms);
    const { blocked_since: since, blocked_until: until, block_reason: reason } = answer;
    const found =
      until === null
        ? null
        : { since: this.#clock.toLocal(since ?? until), until: this.#clock.toLocal(until), reason: reason ?? '' };
    // An answer to a question of before may lack the block of this process.
    if (askedAt > this.#heldAt || (found !== null && found.until > (this.#block?.until ?? 0))) this.#block = found;
    return answer;
  }
}
