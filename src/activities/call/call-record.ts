import { Context } from '@temporalio/activity';
import type { CallJournal, Claim, LandedAnswer, UnitOutcome, UnitRecord } from '../../core/purchase/journal.js';
import { RawJson } from '../../core/text/json.js';

/**
 * What the earlier attempts of a call left in its heartbeat details. `through`: the last attempt that this note counts; `lost`: number of
 * requests of these attempts whose answer got lost.
 */
interface Note {
  readonly through: number;
  readonly lost: number;
}

/** Longest time in ms in which the service may still answer the request of a worker that has ended. */
const ANSWER_MS = 60_000;

/**
 * The record of one attempt of a call on a worker without a record: Temporal's history has the answer once the activity has ended. An attempt
 * that ends by itself leaves a note. An attempt without a note was killed, perhaps after its request was sent, so it counts as a lost answer.
 */
export class CallRecord implements CallJournal {
  /** Number of requests of this call whose answer got lost. */
  lost: number;
  readonly #attempt: number;
  readonly #since: number;
  readonly #records = new Map<string, UnitRecord>();
  #operation = '';

  constructor() {
    const { attempt, heartbeatDetails, currentAttemptScheduledTimestampMs } = Context.current().info;
    const { through = 0, lost = 0 } = (heartbeatDetails ?? {}) as Partial<Note>;
    this.#attempt = attempt;
    this.lost = lost + Math.max(0, attempt - 1 - through);
    this.#since = currentAttemptScheduledTimestampMs;
  }

  /** The note of the attempts before this one, for the heartbeats of this attempt. */
  readonly before = (): Note => ({ through: this.#attempt - 1, lost: this.lost });

  /** Leaves the note of this attempt, which has failed. The SDK sends it before the failure. */
  leave(): void {
    Context.current().heartbeat({ through: this.#attempt, lost: this.lost });
  }

  async claim(keys: readonly string[]): Promise<Claim> {
    const lost = { intentId: CALL, at: this.#since, deadline: this.#since + ANSWER_MS };
    const claimed = (key: string) => ({ key, unknowns: this.lost, lost: this.lost > 0 ? lost : undefined });
    const isOpen = (key: string) => !this.#records.has(key);
    return { landed: [], mine: [...new Set(keys)].filter(isOpen).map(claimed), theirs: [] };
  }

  async intend({ operation }: { readonly operation: string }): Promise<string> {
    this.#operation = operation;
    return CALL;
  }

  async land(_intentId: string, { requestId, fetchedAt, units }: LandedAnswer): Promise<void> {
    for (const unit of units) this.#keep(unit, this.#operation, requestId, fetchedAt);
  }

  async note(): Promise<void> {}

  async miss(_intentId: string, _reason: string, charged: 'never' | 'maybe'): Promise<void> {
    if (charged === 'maybe') this.lost++;
  }

  async recordOutcomes(
    _owner: string,
    _segment: string,
    operation: string,
    units: readonly UnitOutcome[],
  ): Promise<void> {
    for (const unit of units) this.#keep(unit, operation, null, Date.now());
  }

  async release(): Promise<void> {}

  async waitForAny(): Promise<void> {}

  async read(keys: readonly string[]): Promise<ReadonlyMap<string, UnitRecord>> {
    return new Map([...this.#records].filter(([key]) => keys.includes(key)));
  }

  #keep(outcome: UnitOutcome, operation: string, requestId: string | null, at: number): void {
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
