import { Context } from '@temporalio/activity';
import type { CallJournal, Claim, LandedAnswer, UnitOutcome, UnitRecord } from '../../core/purchase/journal.js';
import { RawJson } from '../../core/text/json.js';

/** A start that may have created a run. Times in Unix ms: the start was sent after `at`, and its answer is overdue after `deadline`. */
interface OpenStart {
  readonly at: number;
  readonly deadline: number;
}

/**
 * What the earlier attempts of a call left in its heartbeat details. `through`: the last attempt that this note counts; `lost`: number of
 * requests of these attempts whose answer got lost; `open`: their request whose outcome is not known yet.
 */
interface Note {
  readonly through: number;
  readonly lost: number;
  readonly open?: OpenStart | undefined;
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
  /** Whether this attempt has had its turn. */
  isSent = false;
  readonly #attempt: number;
  #open: OpenStart | undefined;
  readonly #records = new Map<string, UnitRecord>();
  #operation = '';

  constructor() {
    const { attempt, heartbeatDetails, currentAttemptScheduledTimestampMs } = Context.current().info;
    const { through = 0, lost = 0, open } = (heartbeatDetails ?? {}) as Partial<Note>;
    const killed = Math.max(0, attempt - 1 - through);
    this.#attempt = attempt;
    this.lost = lost + killed;
    const at = currentAttemptScheduledTimestampMs;
    this.#open = killed > 0 ? { at: Math.min(at, open?.at ?? at), deadline: at + ANSWER_MS } : open;
  }

  /** The note of the attempts before this one, for the heartbeats of this attempt. */
  readonly before = (): Note => ({ through: this.#attempt - 1, lost: this.lost, open: this.#open });

  /** Leaves the note of this attempt, which has failed. The SDK sends it before the failure. */
  leave(): void {
    Context.current().heartbeat({ through: this.#attempt, lost: this.lost, open: this.#open });
  }

  async claim(keys: readonly string[]): Promise<Claim> {
    const lost = this.#open ? { intentId: CALL, ...this.#open } : undefined;
    const claimed = (key: string) => ({ key, unknowns: this.lost, lost });
    const isOpen = (key: string) => !this.#records.has(key);
    return { landed: [], mine: [...new Set(keys)].filter(isOpen).map(claimed), theirs: [] };
  }

  async intend({ operation, deadline }: { readonly operation: string; readonly deadline: number }): Promise<string> {
    this.#operation = operation;
    this.isSent = true;
    this.#open = { at: Date.now(), deadline };
    return CALL;
  }

  async land(_intentId: string, { requestId, fetchedAt, units }: LandedAnswer): Promise<void> {
    for (const unit of units) this.#keep(unit, this.#operation, requestId, fetchedAt);
    this.#open = undefined;
  }

  /** Records what the list of runs shows, or the answer to a start: all starts of a call have one tag, so that no other one is unknown. */
  async note(): Promise<void> {
    this.lost = 0;
  }

  async miss(_intentId: string, _reason: string, charged: 'never' | 'maybe'): Promise<void> {
    this.#open = undefined;
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
