import { ApplicationFailure } from '@temporalio/common';
import {
  createResearchTaskEndpoint,
  type ResearchTask,
  type ResearchTaskRequest,
} from '../../api/endpoints/research.js';
import type { AgentRun } from '../../api/schemas/agent-run-schemas.js';
import type { UnitRecord } from '../../core/purchase/journal.js';
import { sendOptions } from '../../core/purchase/sent-with.js';
import { keyOptions, unitKeys } from '../../core/purchase/unit-key.js';
import { canonicalJson, type Json } from '../../core/text/json.js';
import { toDollars, toMicros } from '../../core/text/money.js';
import type { RunResearchOptions } from '../../core/workflow-input-schemas.js';
import type {
  ResearchResult,
  RunRequest,
  RunSnapshot,
  RunStep,
  RunStepResult,
} from '../../core/workflow-result-schemas.js';
import type { ActivityDeps } from '../base/deps.js';
import type { PurchaseRequest } from '../purchase/purchase-request.js';
import { runTag } from '../rows/agent-purchase.js';
import { type RunPurchaseKind, runPurchase } from '../rows/run-purchase.js';
import { researchKind } from '../runs/run-follower.js';
import { buyRecords, failUnlessSuccess, lonePurchase, MAX_INLINE_BYTES, startTags } from './buy.js';
import { checkRequest } from './whole-request.js';

/** Returns the purchase fields of one run. Answers that landed after the start of the run's workflow belong to the run. */
export function runOrderFields(
  { maxCostPerJobMicros = null }: Pick<ActivityDeps, 'maxCostPerJobMicros'>,
  { call, askedAt }: RunStep<unknown, RunResearchOptions>,
) {
  const lone = lonePurchase({ maxCostDollars: call.maxCostDollars });
  const { mostMicros = Number.POSITIVE_INFINITY } = lone;
  const isBelow = maxCostPerJobMicros !== null && maxCostPerJobMicros <= mostMicros;
  const workerCapMicros = isBelow ? maxCostPerJobMicros : undefined;
  return {
    ...lone,
    mostMicros: workerCapMicros ?? lone.mostMicros,
    workerCapMicros,
    refused: 'throw' as const,
    freshness: {
      retryTags: startTags,
      retryBefore: askedAt,
      freshAfter: call.refreshAfterMs === undefined ? undefined : askedAt - call.refreshAfterMs,
    },
  };
}

export const nothingYet: RunSnapshot = {
  runId: null,
  status: null,
  startedAt: null,
  events: null,
  costDollars: null,
  waitingFor: null,
};

/** What is known of a run. `startedAt` is a time of this machine's clock; the service's clock may differ. */
export function snapshotOf({ id, status, costDollars }: AgentRun | ResearchTask, startedAt: number): RunSnapshot {
  const dollars = costDollars?.total ?? null;
  return { ...nothingYet, runId: id ?? null, status: status ?? null, startedAt, costDollars: dollars };
}

/** How long one activity follows a long-running purchase. */
export interface LongRunningSlice {
  readonly sliceMs: number | undefined;
  /** The age of the run at which the activity ends, in ms. */
  readonly untilAgeMs?: number | undefined;
  snapshot(): RunSnapshot;
}

/**
 * Makes or follows one long-running purchase for one slice of time. If the run has landed, returns its record, otherwise a snapshot of the
 * run.
 */
export async function buyLongRunning(
  deps: ActivityDeps,
  purchaseRequest: PurchaseRequest,
  { sliceMs, untilAgeMs, snapshot }: LongRunningSlice,
): Promise<{ readonly record: UnitRecord } | { readonly record: null; readonly snapshot: RunSnapshot }> {
  let age: NodeJS.Timeout | undefined;
  const details = (waitingFor: string | null): RunSnapshot => ({ ...snapshot(), waitingFor });
  const progressed = (timeIsUp: () => void): void => {
    const { startedAt } = snapshot();
    if (untilAgeMs !== undefined && startedAt !== null)
      age ??= setTimeout(timeIsUp, startedAt + untilAgeMs - Date.now());
  };
  try {
    const { records, waitingFor } = await buyRecords(deps, purchaseRequest, { timeUpMs: sliceMs, details, progressed });
    const record = records?.[0];
    return record ? { record } : { record: null, snapshot: details(waitingFor) };
  } finally {
    clearTimeout(age);
  }
}

/** Returns the record of a run that ended in any way. Throws if the run was refused, was lost or is gone. */
export function failUnlessEnded(record: UnitRecord): UnitRecord {
  const { error_tag: tag, operation } = record;
  if (tag === 'RUN_GONE') {
    const message = `${operation}: the service no longer returns the run; call it with { refreshAfterMs: 0 } (--rebuy) to start another`;
    throw ApplicationFailure.nonRetryable(message, 'NotFound', { tag, key: record.key });
  }
  return tag?.startsWith('RUN_') ? record : failUnlessSuccess(record);
}

export function requestOf(
  { request_id: requestId, cost_micros: micros, fetched_at: at }: UnitRecord,
  askedAt: number,
): RunRequest {
  return { requestId, costDollars: toDollars(micros), bought: Date.parse(at) >= askedAt };
}

/** Returns the size in bytes of a value that is too large for a workflow; null if the value is small enough. */
export function tooLarge(value: unknown): number | null {
  const bytes = Buffer.byteLength(JSON.stringify(value) ?? '');
  return bytes > MAX_INLINE_BYTES ? bytes : null;
}

/** Name of the operation in keys and segments. */
const RESEARCH = 'research';

const kind: RunPurchaseKind<ResearchTaskRequest, ResearchTask> = {
  operation: RESEARCH,
  run: researchKind,
  create: createResearchTaskEndpoint,
  // The service accepts neither metadata for a tag nor a budget for a task.
  tagged: (input) => input,
  bounded: (input) => input,
  bound: () => null,
  match: ({ instructions, schema }, { input, output }) =>
    canonicalJson([instructions, schema ?? null]) === canonicalJson([input.instructions, output?.schema ?? null])
      ? 'echo'
      : null,
  isTagged: () => false,
  named: () => null,
  outputs: ({ data }) => [data],
  outcome({ status, costDollars, error }) {
    const costMicros = toMicros(costDollars?.total);
    const completed = status ? status === 'completed' : !error;
    if (completed) return { status: 'success', errorTag: null, costMicros };
    return { status: 'error', errorTag: runTag(status ?? 'failed'), costMicros };
  },
};

export type Step = RunStep<{ readonly [field: string]: Json }, RunResearchOptions>;

/** The activity of the workflow `runResearch`. */
export function createResearchRunActivities(deps: ActivityDeps) {
  return {
    /** `researchRun`: starts a research task, or takes over the task of the same request, and follows the task for `sliceMs`. */
    async researchRun(step: Step): Promise<RunStepResult<ResearchResult>> {
      const wire = sendOptions(step.call);
      const request = step.request as ResearchTaskRequest;
      checkRequest(deps, createResearchTaskEndpoint, request, step.call);
      const unit = canonicalJson(step.request);
      let seen = nothingYet;
      const purchaseRequest = runPurchase(deps, deps.runs.research, kind, {
        ...runOrderFields(deps, step),
        units: [{ key: unitKeys(deps.sha256, deps.origin, RESEARCH, keyOptions({}, wire))(unit), unit }],
        request: () => request,
        onPoll: (_unit, task, startedAt) => {
          seen = snapshotOf(task, startedAt);
        },
        wire,
      });
      const end = await buyLongRunning(deps, purchaseRequest, { sliceMs: step.sliceMs, snapshot: () => seen });
      if (end.record === null) return { ended: null, look: end.snapshot };
      return { ended: resultOf(end.record, step.askedAt), look: null };
    },
  };
}

function resultOf(landed: UnitRecord, askedAt: number): ResearchResult {
  const record = failUnlessEnded(landed);
  // The answer was checked against the endpoint's schema when it landed.
  const task = record.result as unknown as ResearchTask;
  const leftOutBytes = tooLarge(task);
  return {
    taskId: task.id ?? null,
    status: task.status ?? null,
    task: leftOutBytes === null ? record.result : null,
    costDollars: toDollars(record.cost_micros),
    requests: [requestOf(record, askedAt)],
    landed: [record.key],
    leftOutBytes,
  };
}
