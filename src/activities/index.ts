import { createAgentRunActivities } from './agent-run.js';
import { createContentsActivity } from './contents.js';
import type { ActivityDeps } from './deps.js';
import { createEndRuns } from './end-runs.js';
import { createEnrichSlice } from './enrich-slice.js';
import { createJobActivities } from './job.js';
import { createMonitorBatchActivities } from './monitor-batch.js';
import { createMonitorCallActivities } from './monitor-call.js';
import { createMonitorCreateActivities } from './monitor-create.js';
import { createMonitorExportActivities } from './monitor-export.js';
import { createMonitorQuietActivities } from './monitor-quiet.js';
import { createOperationActivities } from './operations.js';
import { createResearchRunActivities } from './research-run.js';
import { createWalkActivities } from './walk.js';

export type { CallOptions, OperationResult, RequestShare } from './buy.js';
export type { ContentsResult } from './contents.js';
export { contentsOutcomes } from './contents-order.js';
export type { ActivityDeps } from './deps.js';
export { toFailure } from './failure.js';
export { Halt } from './halt.js';
export { InFlight } from './in-flight.js';
export { landingOf } from './landing.js';
export { type Control, createPurchase, type Order, type Purchase, type Receipt, type Unit } from './purchase.js';
export { createRuns, type WorkerRuns } from './runs.js';
export { ServiceHealth } from './service-health.js';

/** All activities, by the names under which workflows call them. */
export function createActivities(deps: ActivityDeps) {
  return {
    getContents: createContentsActivity(deps),
    enrichSlice: createEnrichSlice(deps),
    endRuns: createEndRuns(deps),
    ...createJobActivities(deps),
    ...createOperationActivities(deps),
    ...createAgentRunActivities(deps),
    ...createResearchRunActivities(deps),
    ...createMonitorBatchActivities(deps),
    ...createWalkActivities(deps),
    ...createMonitorCallActivities(deps),
    ...createMonitorCreateActivities(deps),
    ...createMonitorExportActivities(deps),
    ...createMonitorQuietActivities(deps),
  };
}

/** For `proxyActivities<Activities>()` in a workflow. */
export type Activities = ReturnType<typeof createActivities>;
