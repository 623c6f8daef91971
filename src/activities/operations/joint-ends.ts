import { Context } from '@temporalio/activity';
import type { RowsBought } from '../../core/rows/enrich-rows.js';
import { callHeartbeatMs } from '../base/cancellation.js';
import type { CallRecord } from '../call/call-record.js';

/** Answers that wait for each other, at most. With 2 MiB beside a workflow task, the server ends the task. `each`: bytes of one of them. */
const MOST = { answers: 15, bytes: 2_050_000, each: 262_144, ms: 2000 };
/** The share of the activities of a workflow whose answers may wait although no other activity waits for a turn. */
const SHARE = 0.1;

/**
 * Activities of a workflow that end together: the workflow then has one task for their answers, of three events in its history. An answer
 * waits while other activities wait for a turn, so that no request comes later. A heartbeat has the answer in case the worker is killed.
 */
export class JointEnds {
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
