import { createAgentRunEndpoint, listAgentRunEventsEndpoint } from '../../api/endpoints/agent-runs.js';
import { type AgentRun, type AgentRunRequest, isTerminal } from '../../api/schemas/agent-run-schemas.js';
import type { SendOptions } from '../../api/transport.js';
import { readPage } from '../../core/events/page.js';
import type { UnitRecord } from '../../core/purchase/journal.js';
import { sendOptions } from '../../core/purchase/sent-with.js';
import { canonicalJson, type Json } from '../../core/text/json.js';
import { toDollars } from '../../core/text/money.js';
import type { AgentRequest, RunResearchOptions } from '../../core/workflow-input-schemas.js';
import type { AgentRunResult, RunSnapshot, RunStep, RunStepResult } from '../../core/workflow-result-schemas.js';
import type { ActivityDeps } from '../base/deps.js';
import { callInTurn, type SendDeps } from '../call/call-in-turn.js';
import { isApiError } from '../call/failure.js';
import type { PurchaseRequest } from '../purchase/purchase-request.js';
import { agentKeys, agentPurchase } from '../rows/agent-purchase.js';
import {
  buyLongRunning,
  failUnlessEnded,
  nothingYet,
  requestOf,
  runOrderFields,
  snapshotOf,
  tooLarge,
} from './long-running-call.js';
import { checkRequest } from './whole-request.js';

type Step = RunStep<AgentRequest, RunResearchOptions>;

export function createAgentRunActivities(deps: ActivityDeps) {
  return {
    /**
     * `agentRun`: starts an agent run, or takes over the run in progress for the same request, and follows the run for `sliceMs`. A request
     * is started once, even by repeated or concurrent attempts. Heartbeats are `RunSnapshot`s.
     */
    async agentRun(step: Step): Promise<RunStepResult<AgentRunResult>> {
      checkRequest(deps, createAgentRunEndpoint, step.request as AgentRunRequest, step.call);
      let seen: RunSnapshot = nothingYet;
      const events = new EventCount(deps);
      const onPoll = (run: AgentRun, startedAt: number) => {
        seen = snapshotOf(run, startedAt);
        if (!isTerminal(run.status)) void events.poll(run.id);
      };
      const snapshot = (): RunSnapshot => ({ ...seen, events: events.count });
      const { sliceMs, untilAgeMs } = step;
      const end = await buyLongRunning(deps, purchaseOf(deps, step, { onPoll }), { sliceMs, untilAgeMs, snapshot });
      if (end.record === null) return { ended: null, look: end.snapshot };
      return { ended: resultOf(end.record, step.askedAt), look: null };
    },

    /**
     * `endAgentRun`: cancels the run of a request, or stops the run so that its output is kept. Returns the ended run with its cost.
     * Returns null if no run was started, or if the run has not ended within `sliceMs`. If the start of the run got no answer, the run is
     * searched for.
     */
    async endAgentRun(step: Step & { readonly how: 'cancel' | 'stop' }): Promise<AgentRunResult | null> {
      let seen: RunSnapshot = nothingYet;
      const onPoll = (run: AgentRun, startedAt: number) => {
        seen = snapshotOf(run, startedAt);
      };
      const purchaseRequest = purchaseOf(deps, step, { onPoll, ending: step.how });
      const { record } = await buyLongRunning(deps, purchaseRequest, { sliceMs: step.sliceMs, snapshot: () => seen });
      return record === null ? null : resultOf(record, step.askedAt);
    },
  };
}

function purchaseOf(
  deps: ActivityDeps,
  step: Step,
  { onPoll, ending }: { onPoll(run: AgentRun, startedAt: number): void; readonly ending?: 'cancel' | 'stop' },
): PurchaseRequest {
  const wire: SendOptions = sendOptions(step.call);
  const unit = canonicalJson(step.request);
  return agentPurchase(deps, {
    ...runOrderFields(deps, step),
    units: [{ key: agentKeys(deps, wire)(unit), unit }],
    request: () => step.request as AgentRunRequest,
    onPoll: (_unit, run, startedAt) => onPoll(run, startedAt),
    wire,
    ending,
  });
}

function resultOf(landed: UnitRecord, askedAt: number): AgentRunResult {
  const record = failUnlessEnded(landed);
  // The answer was checked against the endpoint's schema when it landed.
  const { id, status, stopReason, output, usage, error } = record.result as unknown as AgentRun;
  const leftOutBytes = tooLarge(output ?? null);
  const kept = leftOutBytes === null ? output : null;
  return {
    runId: id,
    status: status ?? 'unknown',
    stopReason: stopReason ?? null,
    text: kept?.text ?? null,
    structured: (kept?.structured ?? null) as Json,
    grounding: (kept?.grounding ?? []) as readonly Json[],
    usage: (usage ?? null) as Json,
    error: (error ?? null) as Json,
    costDollars: toDollars(record.cost_micros),
    requests: [requestOf(record, askedAt)],
    landed: [record.key],
    leftOutBytes,
  };
}

const EVERY_MS = 2000;
const PAGE = 100;

/** Counts the stored events of a run in progress. A service without a list of events is asked only once. */
class EventCount {
  /** The number of events; null: unknown. */
  count: number | null = null;
  #cursor: string | undefined;
  #seen = new Set<string>();
  #next = 0;
  #off = false;

  constructor(private readonly deps: SendDeps) {}

  /** Reads the number of events if a poll is due. Never rejects, because the run does not depend on the number. */
  async poll(runId: string): Promise<void> {
    if (this.#off || performance.now() < this.#next) return;
    this.#next = Number.POSITIVE_INFINITY;
    try {
      const input = { id: runId, limit: PAGE, cursor: this.#cursor };
      const page = readPage((await callInTurn(this.deps, listAgentRunEventsEndpoint, input)).data);
      for (const { id } of page?.items ?? []) this.#seen.add(String(id));
      this.count = this.#seen.size;
      this.#cursor = page?.cursor ?? this.#cursor;
    } catch (error) {
      this.#off = isApiError(error) && !error.verdict.retry;
    } finally {
      this.#next = performance.now() + EVERY_MS;
    }
  }
}
