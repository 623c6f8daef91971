/** searchflow without Temporal: every operation as a plain function, one attempt. The limiter is `searchflow/limiter`. */
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
export type { MonitorAction, PublishMode, PublishPartition } from './core/choices.js';
export { type Proxies, proxiesOf } from './core/connections/proxies.js';
export { Secret } from './core/connections/secret.js';
export { DEFAULT_BASE_URL } from './core/connections/service.js';
export type { EnrichedPage, EnrichRowsInput, RowResult, RowsSummary } from './core/enrich-rows-schemas.js';
export { WalkError } from './core/events/walk.js';
export type { Grant, Limiter, LimiterView, RateCost } from './core/limiter/limiter.js';
export { monitorUpdates, monitorWorkflows } from './core/monitors/monitor-names.js';
export { type CallFacts, classify, type FailureType, type Verdict } from './core/purchase/failure.js';
export { transientTags } from './core/purchase/failure-tags.js';
export { type ContentType, type PriceBands, type PriceTable, priceTables } from './core/purchase/prices.js';
export type {
  AgentRowsInput,
  EnrichCsvInput,
  FailureLimit,
  JobProgress,
  JobSummary,
  MaxCost,
  PublishOutcome,
  PublishStep,
  Resumption,
  StopAtFailed,
} from './core/row-job-schemas.js';
export {
  DEFAULT_TASK_QUEUE,
  type JobPhase,
  type PauseReason,
  queryNames,
  signalNames,
  workflowNames,
} from './core/rows/job-names.js';
export type { RowOperation } from './core/rows/row-operation.js';
export type {
  AgentRequest,
  BackfillEventsInput,
  BatchMonitorsInput,
  CreateMonitorInput,
  Decision,
  ExportMonitorRunsInput,
  MonitorFilter,
  RunAgentOptions,
  ScheduledJobInput,
  SyncAgentRunsInput,
  SyncEventsInput,
} from './core/workflow-input-schemas.js';
export type {
  AgentRunResult,
  AgentRunSync,
  BatchEffect,
  BatchPhase,
  BatchProgress,
  BatchSummary,
  CreatedMonitorResult,
  Differences,
  MonitorEffect,
  MonitorExport,
  RunProgress,
  ScheduledOutcome,
  Verification,
  WalkProgress,
  WalkSummary,
} from './core/workflow-result-schemas.js';
