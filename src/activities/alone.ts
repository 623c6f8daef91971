import { Context } from '@temporalio/activity';
import { type OperationName, operationTable } from '../api/operations.js';
import type { RowsBought, RowsPiece } from '../core/rows/enrich-rows.js';
import { callHeartbeatMs } from './base/cancellation.js';
import type { CallDeps } from './base/deps.js';
import { CallRecord, SpareAnswers } from './call/call-record.js';
import { createContentsActivity } from './operations/contents.js';
import { createEnrichRows } from './operations/enrich-rows.js';
import { operationActivity } from './operations/operations.js';
import type { PurchaseDeps } from './purchase/journal-writes.js';
import { createPurchase } from './purchase/purchase.js';

/** The part of the activities that a worker without a record loads. */
export { AccountBreaker, CircuitBreaker } from './call/circuit-breaker.js';
export { InFlight } from './call/in-flight.js';
export { Places } from './call/places.js';
export { needsRecord } from './operations/buy.js';

/** The ports of a worker without a record. */
export type AloneDeps = Omit<CallDeps, 'journal' | 'purchase' | 'alone'> & Omit<PurchaseDeps, 'journal'>;

export type Call = (...args: never[]) => Promise<unknown>;

/** Returns the activities of a worker without a record: Temporal's history keeps the answers. */
export function createAloneActivities(deps: AloneDeps): Readonly<Record<string, Call>> {
  const ends = new JointEnds();
  const spares = new SpareAnswers();
  const activity =
    (callOf: (ofCall: CallDeps, record: CallRecord) => Call): Call =>
    async (...args) => {
      const journal = new CallRecord();
      const purchase = createPurchase({ ...deps, journal });
      const ofCall: CallDeps = { ...deps, journal, alone: journal, spares, purchase };
      try {
        return await callOf(ofCall, journal)(...args);
      } catch (error) {
        journal.leave();
        throw error;
      }
    };
  const names = (Object.keys(operationTable) as OperationName[]).filter((name) => name !== 'getContents');
  return {
    ...Object.fromEntries(names.map((name) => [name, activity((ofCall) => operationActivity(ofCall, name))])),
    getContents: activity(createContentsActivity),
    planEnrichRows: activity((ofCall) => createEnrichRows(ofCall).planEnrichRows),
    buyEnrichRows: activity(
      (ofCall, record) => (piece: RowsPiece) =>
        ends.buy(record, piece.isLast, () => createEnrichRows(ofCall).buyEnrichRows(piece)),
    ),
  };
}

/** Answers that wait for each other, at most. With 2 MiB beside a workflow task, the server ends the task. `each`: bytes of one of them. */
const MOST = { answers: 15, bytes: 2_050_000, each: 262_144, ms: 2000 };
/** The share of the activities of a workflow whose answers may wait although no other activity waits for a turn. */
const SHARE = 0.1;

/**
 * Activities of a workflow that end together: the workflow then has one task for their answers, of three events in its history. An answer
 * waits while other activities wait for a turn, so that no request comes later. A heartbeat has the answer in case the worker is killed.
 */
class JointEnds {
  readonly #workflows = new Map<string, OfWorkflow>();

  async buy(record: CallRecord, isLast: boolean, buy: () => Promise<RowsBought>): Promise<RowsBought> {
    const { heartbeatDetails, workflowExecution } = Context.current().info;
    const { bought: before } = (heartbeatDetails ?? {}) as { readonly bought?: RowsBought };
    if (before) return before;
    const { runId = '' } = workflowExecution ?? {};
    const all = this.#workflows.get(runId) ?? new OfWorkflow();
    this.#workflows.set(runId, all);
    all.isLast ||= isLast;
    all.open.add(record);
    try {
      const bought = await buy();
      if (bought.bytes <= MOST.each) await all.wait(record, bought);
      return bought;
    } finally {
      all.open.delete(record);
      if (all.open.size === 0) this.#workflows.delete(runId);
      if (all.isEnough()) all.end();
    }
  }
}

class OfWorkflow {
  readonly open = new Set<CallRecord>();
  /** Whether the workflow has no further rows. */
  isLast = false;
  #waiting: (() => void)[] = [];
  #bytes = 0;

  async wait(record: CallRecord, bought: RowsBought): Promise<void> {
    const over = new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#bytes += bought.bytes;
    if (this.isEnough()) return this.end();
    void record.keep({ bought }).catch(() => undefined);
    const timer = setTimeout(this.end, Math.min(MOST.ms, callHeartbeatMs()));
    Context.current().cancelled.catch(this.end);
    await over;
    clearTimeout(timer);
  }

  /** Whether the waiting answers end now: enough of them wait, or none can join them soon. */
  isEnough(): boolean {
    const { length } = this.#waiting;
    if (length === this.open.size || this.#bytes + this.#bytes / length > MOST.bytes) return true;
    const unsent = [...this.open].filter(({ isSent }) => !isSent).length;
    return length >= Math.min(MOST.answers, this.isLast ? MOST.answers : Math.max(unsent, this.open.size * SHARE));
  }

  readonly end = (): void => {
    for (const resolve of this.#waiting) resolve();
    this.#waiting = [];
    this.#bytes = 0;
  };
}
