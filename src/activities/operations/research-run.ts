import {
  createResearchTaskEndpoint,
  type ResearchTask,
  type ResearchTaskRequest,
} from '../../api/endpoints/research.js';
import type { UnitRecord } from '../../core/purchase/journal.js';
import { sendOptions } from '../../core/purchase/sent-with.js';
import { keyOptions, unitKeys } from '../../core/purchase/unit-key.js';
import { canonicalJson, type Json } from '../../core/text/json.js';
import { toMicros } from '../../core/text/money.js';
import type { RunResearchOptions } from '../../core/workflow-input-schemas.js';
import type { ResearchResult, RunStep, RunStepResult } from '../../core/workflow-result-schemas.js';
import type { ActivityDeps } from '../base/deps.js';
import { runTag } from '../rows/agent-purchase.js';
import { type RunPurchaseKind, runPurchase } from '../rows/run-purchase.js';
import { researchKind } from '../runs/run-kinds.js';
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

type Step = RunStep<{ readonly [field: string]: Json }, RunResearchOptions>;

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
    costDollars: record.cost_micros / 1e6,
    requests: [requestOf(record, askedAt)],
    landed: [record.key],
    leftOutBytes,
  };
}
