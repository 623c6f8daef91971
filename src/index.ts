/**
 * searchflow without Temporal: every operation as a plain function, one attempt, typed in and out, and the limiter that
 * activities and plain calls share.
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
  researchIdOf,
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
export type { AgentRowsInput } from './core/agent-rows.js';
export type { AgentRequest, AgentRunResult, RunAgentOptions, RunProgress } from './core/agent-run.js';
export type { Differences, Verification } from './core/event-warehouse.js';
export { type ExitCode, exitCodes } from './core/exit-codes.js';
export { type CallFacts, classify, type FailureType, transientTags, type Verdict } from './core/failure.js';
export {
  DEFAULT_TASK_QUEUE,
  type EnrichCsvInput,
  type JobPhase,
  type JobProgress,
  type JobSummary,
  type MaxCost,
  type PauseReason,
  queryNames,
  type Resumption,
  signalNames,
  workflowNames,
} from './core/job.js';
export type { Draw, Grant, Limiter, LimiterView } from './core/limiter.js';
export type { BatchMonitorsInput, BatchPhase, BatchProgress, Decision, MonitorAction } from './core/monitor-batch.js';
export type { CreatedMonitorResult, CreateMonitorInput } from './core/monitor-create.js';
export type { BatchEffect, BatchSummary, MonitorEffect } from './core/monitor-effect.js';
export type { ExportMonitorRunsInput, MonitorExport } from './core/monitor-export.js';
export type { MonitorFilter } from './core/monitor-filter.js';
export { monitorUpdates, monitorWorkflows } from './core/monitor-names.js';
export { type ContentType, type PriceBands, type PriceTable, priceTables } from './core/prices.js';
export type { QuietHours, Weekday } from './core/quiet-hours.js';
export type { QuietInput, QuietOutcome } from './core/quiet-input.js';
export { flatProfile, type RateBucket, type RateProfile, rateProfiles } from './core/rate.js';
export type { RowOperation } from './core/row-operation.js';
export type { ScheduledJobInput, ScheduledOutcome } from './core/schedule.js';
export { Secret } from './core/secret.js';
export { DEFAULT_BASE_URL } from './core/service.js';
export { WalkError } from './core/walk.js';
export type { BackfillEventsInput, SyncEventsInput, WalkProgress, WalkSummary } from './core/walk-job.js';
export { MemoryLimiter } from './store/memory-limiter.js';
