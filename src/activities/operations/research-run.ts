import {
  createResearchTaskEndpoint,
  type ResearchTask,
  type ResearchTaskRequest,
  researchIdOf,
} from '../../api/endpoints/research.js';
import type { UnitRecord } from '../../core/purchase/journal.js';
import { sendOptions } from '../../core/rows/job.js';
import type {
  ResearchResult,
  RunResearchOptions,
  RunSnapshot,
  RunStep,
  RunStepResult,
} from '../../core/runs/agent-run.js';
import { canonicalJson, type Json } from '../../core/text/json.js';
import type { ActivityDeps } from '../base/deps.js';
import { researchKeys, researchPurchase } from '../rows/research-purchase.js';
import { buyLongRunning, failUnlessEnded, requestOf, runOrderFields, tooLarge } from './long-running-call.js';
import { checkRequest } from './whole-request.js';

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
      let seen: RunSnapshot = {
        runId: null,
        status: null,
        startedAt: null,
        events: null,
        costDollars: null,
        waitingFor: null,
      };
      const purchaseRequest = researchPurchase(deps, {
        ...runOrderFields(deps, step),
        units: [{ key: researchKeys(deps, {}, wire)(unit), unit }],
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

function snapshotOf(task: ResearchTask, startedAt: number): RunSnapshot {
  const { status, events, costDollars } = task;
  return {
    runId: researchIdOf(task),
    status: status ?? null,
    startedAt,
    events: events?.length ?? null,
    costDollars: costDollars?.total ?? null,
    waitingFor: null,
  };
}

function resultOf(landed: UnitRecord, askedAt: number): ResearchResult {
  const record = failUnlessEnded(landed);
  // The answer was checked against the endpoint's schema when it landed.
  const task = record.result as unknown as ResearchTask;
  const leftOutBytes = tooLarge(task);
  return {
    taskId: researchIdOf(task),
    status: task.status ?? null,
    task: leftOutBytes === null ? record.result : null,
    costDollars: record.cost_micros / 1e6,
    requests: [requestOf(record, askedAt)],
    landed: [record.key],
    leftOutBytes,
  };
}
