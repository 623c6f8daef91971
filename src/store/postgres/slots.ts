import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Slots, SlotsView } from '../../core/limiter/slots.js';
import { WaitQueue } from '../../core/processes/wait-queue.js';
import { BRIEF_MS, identifier, type Postgres } from '../../postgres/index.js';

export interface PgSlotsOptions {
  readonly postgres: Postgres;
  /** Id of the team, which all its processes share. */
  readonly team: string;
  /** Number of slots; default 50. */
  readonly limit?: number;
}

/** Interval at which slots are asked for: a notification may be lost, and a process that has not asked for 5 s loses its rank. */
const ASK_MS = 1000;

/** The team's slots for many processes. A slot outlives the process that took the slot. */
export class PgSlots implements Slots {
  readonly #postgres: Postgres;
  readonly #schema: string;
  readonly #team: string;
  readonly #limit: number;
  readonly #me = randomUUID();
  readonly #closed = new AbortController();
  readonly #limits = { signal: this.#closed.signal, statementMs: BRIEF_MS };
  readonly #queue = new WaitQueue<string>();
  #asking = false;
  /** Whether the queue has changed, or a slot may be free. */
  #changed = false;
  #wake = new AbortController();
  #listening: Promise<() => Promise<void>> | null = null;

  constructor({ postgres, team, limit = 50 }: PgSlotsOptions) {
    this.#postgres = postgres;
    this.#schema = identifier(postgres.address.schema);
    this.#team = team;
    this.#limit = limit;
  }

  take(owner: string, signal?: AbortSignal): Promise<void> {
    const taken = this.#queue.wait(owner, { signal, onAbort: () => this.#ask() });
    if (this.#queue.size > 0) this.#ask();
    return taken;
  }

  async name(owner: string, runId: string): Promise<void> {
    await this.#call('slots_hold($1, $2, $3)', [this.#team, owner, runId]);
  }

  async free(owner: string): Promise<void> {
    await this.#call('slots_free($1, $2)', [this.#team, owner]);
  }

  async owners() {
    return this.#postgres.query<{ owner: string; runId: string | null; takenAt: number }>(
      `SELECT owner, run_id AS "runId", (extract(epoch FROM taken_at) * 1000)::double precision AS "takenAt"
         FROM ${this.#schema}.slots WHERE team = $1 ORDER BY taken_at, owner`,
      [this.#team],
    );
  }

  async note(inProgress: readonly string[], asOf: number): Promise<void> {
    // The time is sent as an age, because the clocks of two machines may differ by minutes.
    await this.#call('slots_note($1, $2::text[], $3)', [this.#team, inProgress, Math.max(0, Date.now() - asOf)]);
  }

  async view(): Promise<SlotsView> {
    const [row] = await this.#postgres.query<Omit<SlotsView, 'limit'>>(
      `SELECT (SELECT count(*)::integer FROM ${this.#schema}.slots WHERE team = $1) AS held,
         ${this.#schema}.slots_elsewhere($1) AS elsewhere,
         (SELECT count(*)::integer FROM ${this.#schema}.slots_waiting
           WHERE team = $1 AND seen_at > clock_timestamp() - interval '5 s') AS waiting`,
      [this.#team],
    );
    return { limit: this.#limit, ...(row ?? { held: 0, elsewhere: 0, waiting: 0 }) };
  }

  async close(): Promise<void> {
    const closed = new Error('The slots were closed');
    this.#closed.abort(closed);
    this.#wake.abort();
    this.#queue.rejectAll(closed);
    const unlisten = await this.#listening;
    await unlisten?.();
  }

  async #call<R>(call: string, values: readonly unknown[]): Promise<R[]> {
    return this.#postgres.query<R>(`SELECT * FROM ${this.#schema}.${call}`, values, { ...this.#limits, isCall: true });
  }

  /** Asks for slots for all waiting owners, and asks again until no owner waits. */
  #ask(): void {
    this.#changed = true;
    this.#wake.abort();
    if (this.#asking || this.#closed.signal.aborted) return;
    this.#asking = true;
    this.#listening ??= this.#postgres.listen(
      'searchflow_slots',
      (team) => team === this.#team && this.#queue.size > 0 && this.#ask(),
      () => this.#queue.size > 0 && this.#ask(),
    );
    void this.#askWhileWaiting().finally(() => {
      this.#asking = false;
    });
  }

  async #askWhileWaiting(): Promise<void> {
    try {
      while (this.#changed || this.#queue.size > 0) {
        this.#changed = false;
        const owners = [...new Set([...this.#queue].map(({ item }) => item))];
        const values = [this.#team, this.#limit, this.#me, owners];
        const held = await this.#call<{ owner: string; fresh: boolean }>('slots_take($1, $2, $3, $4::text[])', values);
        for (const { owner, fresh } of held) await this.#hand(owner, fresh);
        if (!this.#changed && this.#queue.size > 0) {
          this.#wake = new AbortController();
          await delay(ASK_MS, undefined, { signal: this.#wake.signal }).catch(() => undefined);
        }
      }
    } catch (error) {
      this.#queue.rejectAll(error);
    }
  }

  async #hand(owner: string, fresh: boolean): Promise<void> {
    const mine = [...this.#queue].filter(({ item }) => item === owner);
    for (const waiter of mine) waiter.resolve();
    // The owner has stopped waiting.
    if (mine.length === 0 && fresh) await this.free(owner);
  }
}
