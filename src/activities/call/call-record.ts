import { Context } from '@temporalio/activity';
import type { CallJournal, Claim, LandedAnswer, UnitOutcome, UnitRecord } from '../../core/purchase/journal.js';
import { RawJson } from '../../core/text/json.js';

/** Answers that had no room in the result of their activity. Another activity in this process has them for free, if it comes soon. */
export class SpareAnswers {
  readonly #spares = new Map<string, Spare[]>();
  #bytes = 0;

  /** `since`: the beginning of the call, the same in its activities. Two calls may begin at once with equal rows: each has its own answer. */
  add(record: UnitRecord | undefined, since: number, bytes: number): void {
    if (!record || this.#bytes + bytes > SPARE.bytes) return;
    const { key } = record;
    const id = `${since} ${key}`;
    const timer = setTimeout(() => this.use(key, since), SPARE.ms).unref();
    this.#spares.set(id, [...(this.#spares.get(id) ?? []), { record, bytes, timer }]);
    this.#bytes += bytes;
  }

  find(keys: Iterable<string>, since: number): readonly UnitRecord[] {
    return [...keys].flatMap((key) => this.#spares.get(`${since} ${key}`)?.[0]?.record ?? []);
  }

  use(key: string, since: number): void {
    const id = `${since} ${key}`;
    const all = this.#spares.get(id) ?? [];
    const spare = all.shift();
    if (all.length === 0) this.#spares.delete(id);
    clearTimeout(spare?.timer);
    this.#bytes -= spare?.bytes ?? 0;
  }
}

type Spare = { readonly record: UnitRecord; readonly bytes: number; readonly timer: NodeJS.Timeout };
const SPARE = { bytes: 268_435_456, ms: 600_000 };

/**
 * What the attempts of a call leave in its heartbeat details. `lost`: number of their requests whose answer is lost if the history has none.
 * `open`: the last of them if its outcome is not known. It was sent after `at`; its answer is overdue after `deadline`. Times in Unix ms.
 */
interface Note {
  readonly lost: number;
  readonly open?: { readonly at: number; readonly deadline: number } | undefined;
}

/**
 * The record of one attempt of a call on a worker without a record: Temporal's history has the answer once the activity has ended. Before a
 * request is sent, a note in the heartbeat details counts it as lost, so the next attempt knows it if this one is killed.
 */
export class CallRecord implements CallJournal {
  /** Number of requests of earlier attempts, and of failed ones of this attempt, whose answer got lost. */
  lost: number;
  /** Whether this attempt has had its turn. */
  isSent = false;
  /** Number of requests of this attempt that would be lost with the worker: they are in flight, or their answers are only here. */
  #atRisk = 0;
  #open: Note['open'];
  #isBeating = false;
  readonly #records = new Map<string, UnitRecord>();
  #operation = '';

  constructor() {
    const { lost = 0, open } = (Context.current().info.heartbeatDetails ?? {}) as Partial<Note>;
    this.lost = lost;
    this.#open = open;
  }

  /** The note, for a heartbeat of the SDK. */
  readonly details = (): Note => {
    this.#isBeating = true;
    return this.#note();
  };

  /** Writes the note, and more details, for the next attempt. They are durable when it has returned. */
  async keep(more: object = {}): Promise<void> {
    const context = Context.current();
    // The workflow task keeps a local activity, which has no heartbeat.
    if (context.info.isLocal) return;
    const details = { ...this.#note(), ...more };
    // The SDK may hold an earlier heartbeat back for seconds; this one takes its place.
    if (this.#isBeating) context.heartbeat(details);
    try {
      await context.client.activity.heartbeat(context.info.taskToken, details);
    } catch (error) {
      if ((error as Error).name !== 'ActivityCancelledError') throw error;
      // The SDK learns of a cancel by a heartbeat of its own.
      context.heartbeat(details);
      await context.cancelled;
    }
  }

  /** Leaves the note of this attempt, which has failed. The SDK sends it before the failure. */
  leave(): void {
    if (this.isSent) Context.current().heartbeat(this.#note());
  }

  #note(): Note {
    return { lost: this.lost + this.#atRisk, open: this.#open };
  }

  async claim(keys: readonly string[]): Promise<Claim> {
    const lost = this.#open ? { intentId: CALL, ...this.#open } : undefined;
    const claimed = (key: string) => ({ key, unknowns: this.lost, lost });
    const isOpen = (key: string) => !this.#records.has(key);
    return { landed: [], mine: [...new Set(keys)].filter(isOpen).map(claimed), theirs: [] };
  }

  /** If the note cannot be written, or the call is cancelled, nothing is sent. */
  async intend({ operation, deadline }: { readonly operation: string; readonly deadline: number }): Promise<string> {
    this.#operation = operation;
    this.isSent = true;
    this.#atRisk++;
    this.#open = { at: Date.now(), deadline };
    await this.keep().catch((error: unknown) => {
      this.#unsent();
      throw error;
    });
    return CALL;
  }

  async land(_intentId: string, { requestId, fetchedAt, units }: LandedAnswer): Promise<void> {
    for (const unit of units) this.#add(unit, this.#operation, requestId, fetchedAt);
  }

  /** Records what the list of runs shows, or the answer to a start: all starts of a call have one tag, so that no other one is unknown. */
  async note(): Promise<void> {
    this.lost = 0;
    this.#atRisk = 0;
  }

  async miss(_intentId: string, _reason: string, charged: 'never' | 'maybe'): Promise<void> {
    this.#unsent();
    if (charged === 'maybe') this.lost++;
  }

  async recordOutcomes(_: string, __: string, operation: string, units: readonly UnitOutcome[]): Promise<void> {
    for (const unit of units) this.#add(unit, operation, null, Date.now());
  }

  async release(): Promise<void> {}

  async waitForAny(): Promise<void> {}

  async read(keys: readonly string[]): Promise<ReadonlyMap<string, UnitRecord>> {
    return new Map([...this.#records].filter(([key]) => keys.includes(key)));
  }

  #unsent(): void {
    this.#atRisk = Math.max(0, this.#atRisk - 1);
    this.#open = undefined;
  }

  #add(outcome: UnitOutcome, operation: string, requestId: string | null, at: number): void {
    const { key, unit, costMicros, status, errorTag, httpStatus, source, by, misread, wholeStatus, result } = outcome;
    this.#records.set(key, {
      ...{ key, unit, operation, status, source, by, misread, told: wholeStatus },
      request_id: requestId,
      fetched_at: new Date(at).toISOString(),
      cost_micros: costMicros,
      error_tag: errorTag,
      http_status: httpStatus,
      result: result instanceof RawJson ? JSON.parse(result.text) : result,
    });
  }
}

/** The intent of a call. A run is found by its tag, which is made of the unit's key and the intent. */
const CALL = 'call';
