import type { AlertDelivery } from '../core/alerts/alert.js';
import { type AlertRun, type RunState, stateOfRun } from '../core/alerts/job-alerts.js';
import type { ActivityDeps } from './base/deps.js';
import { heartbeatOfWaits } from './base/with-heartbeat.js';
import { createWalkActivities } from './events/walk.js';
import { createMonitorBatchActivities } from './monitors/monitor-batch.js';
import { createMonitorCallActivities, createMonitorCreateActivities } from './monitors/monitor-create.js';
import { createMonitorExportActivities } from './monitors/monitor-export.js';
import { createAgentRunActivities } from './operations/agent-run.js';
import { createAgentRunSyncActivities } from './operations/agent-run-sync.js';
import { createContentsActivity } from './operations/contents.js';
import { createEnrichRows } from './operations/enrich-rows.js';
import { createReadAnswer } from './operations/landed-answers.js';
import { createResearchRunActivities } from './operations/long-running-call.js';
import { createOperationActivities } from './operations/operations.js';
import { createEndRuns, createEnrichSlice } from './rows/enrich-slice.js';
import { createJobActivities, createRetryRows } from './rows/job.js';

/** Input of `noteAlert`. */
export interface NoteAlert extends Omit<AlertRun, 'origin'>, RunState {}

export function createAlertActivities(deps: Pick<ActivityDeps, 'alerts' | 'sendAlert' | 'origin'>) {
  return {
    /** `noteAlert`: reports the state of a run that only its workflow knows. Any number of attempts makes one alert. */
    async noteAlert({ job, kind, run, scheduled, ...state }: NoteAlert): Promise<void> {
      const { origin } = deps;
      await deps.alerts.note([stateOfRun({ job, kind, run, scheduled, origin }, state)]);
    },

    /** `sendAlert`: makes one attempt to deliver an alert. */
    async sendAlert(delivery: AlertDelivery): Promise<void> {
      const heart = heartbeatOfWaits();
      await deps.sendAlert(delivery).finally(() => heart.stop());
    },
  };
}

export type { ActivityDeps } from './base/deps.js';
export { AccountBreaker, CircuitBreaker } from './call/circuit-breaker.js';
export { toFailure } from './call/failure.js';
export { InFlight } from './call/in-flight.js';
export { landingOf } from './call/landing.js';
export { Places } from './call/places.js';
export { createPurchase } from './purchase/purchase.js';
export type { Control, Purchase, PurchaseRequest, Receipt, Unit } from './purchase/purchase-request.js';
export { contentsOutcomes } from './rows/contents-purchase.js';
export type { WorkerRuns } from './runs/runs.js';
export { createRuns } from './runs/slot-keeper.js';

/** All activities, under the names by which workflows call them. */
export function createActivities(deps: ActivityDeps) {
  return {
    getContents: createContentsActivity(deps),
    readAnswer: createReadAnswer(deps),
    ...createEnrichRows(deps),
    enrichSlice: createEnrichSlice(deps),
    retryRows: createRetryRows(deps),
    endRuns: createEndRuns(deps),
    ...createJobActivities(deps),
    ...createAlertActivities(deps),
    ...createOperationActivities(deps),
    ...createAgentRunActivities(deps),
    ...createResearchRunActivities(deps),
    ...createMonitorBatchActivities(deps),
    ...createWalkActivities(deps),
    ...createMonitorCallActivities(deps),
    ...createMonitorCreateActivities(deps),
    ...createMonitorExportActivities(deps),
    ...createAgentRunSyncActivities(deps),
  };
}

/** All activities, those of the workflows of the package among them. Workflow code of others uses `Activities`. */
export type AllActivities = ReturnType<typeof createActivities>;
