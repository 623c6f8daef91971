/**
 * searchflow without Temporal: every operation as a plain function, one attempt, with types for request and answer. The limiter
 * of one process is `searchflow/limiter`.
 */
export {
  type Answer,
  ApiError,
  type Client,
  type ClientOptions,
  type ContentsRequest,
  type ContentsResponse,
  createClient,
  isTerminal,
  type MatchedContents,
  type MatchedUnit,
  matchContents,
  parseRetryAfter,
  readMonitorBatch,
  type SearchRequest,
  type SearchResponse,
  type SearchResult,
  type SendOptions,
  StreamDropped,
  toOutputSchema,
  verifyWebhook,
  type WebhookEvent,
  type WebhookProblem,
  WebhookRefused,
} from './api/index.js';
export type { AgentRequest, AgentRunResult, RunAgentOptions, RunProgress } from './core/agent-run.js';
export type { AgentRunSync, SyncAgentRunsInput } from './core/agent-run-sync.js';
export { type Proxies, proxiesOf } from './core/connections/proxies.js';
export { Secret } from './core/connections/secret.js';
export { DEFAULT_BASE_URL } from './core/connections/service.js';
export type { Differences, Verification } from './core/events/event-warehouse.js';
export { WalkError } from './core/events/walk.js';
export type { BackfillEventsInput, SyncEventsInput, WalkProgress, WalkSummary } from './core/events/walk-job.js';
export type { Grant, Limiter, LimiterView, RateCost } from './core/limiter/limiter.js';
export type {
  BatchMonitorsInput,
  BatchPhase,
  BatchProgress,
  Decision,
  MonitorAction,
} from './core/monitors/monitor-batch.js';
export type { CreatedMonitorResult, CreateMonitorInput } from './core/monitors/monitor-create.js';
export type { BatchEffect, BatchSummary, MonitorEffect } from './core/monitors/monitor-effect.js';
export type { MonitorFilter } from './core/monitors/monitor-filter.js';
export { monitorUpdates, monitorWorkflows } from './core/monitors/monitor-names.js';
export type { ExportMonitorRunsInput, MonitorExport } from './core/monitors/monitor-warehouse.js';
export type { PublishMode, PublishOutcome, PublishPartition, PublishStep } from './core/publish-request.js';
export { type CallFacts, classify, type FailureType, transientTags, type Verdict } from './core/purchase/failure.js';
export { type ContentType, type PriceBands, type PriceTable, priceTables } from './core/purchase/prices.js';
export type { AgentRowsInput } from './core/rows/agent-rows.js';
export type { EnrichCsvInput, JobProgress, JobSummary, MaxCost, Resumption } from './core/rows/job.js';
export {
  DEFAULT_TASK_QUEUE,
  type JobPhase,
  type PauseReason,
  queryNames,
  signalNames,
  workflowNames,
} from './core/rows/job-names.js';
export type { RowOperation } from './core/rows/row-operation.js';
export type { FailureLimit, StopAtFailed } from './core/rows/stop-at-failed.js';
export type { ScheduledJobInput, ScheduledOutcome } from './core/schedule.js';
