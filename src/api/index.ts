export {
  type AgentRun,
  type AgentRunEvent,
  type AgentRunRequest,
  isTerminal,
} from './agent-run-schemas.js';
export type { AgentRunEventFilter, AgentRunEventPage, AgentRunPage } from './agent-runs.js';
export type { AnswerRequest, AnswerResponse } from './answer.js';
export type { AnswerHeaders } from './answer-headers.js';
export type { AnswerChunk, SearchChunk } from './answer-streams.js';
export { type Client, type ClientOptions, createClient, type EachList } from './client.js';
export { type ContentsRequest, type ContentsResponse, contentsEndpoint } from './contents.js';
export type { Deprecation } from './deprecations.js';
export {
  type AnyEndpoint,
  type ById,
  type Endpoint,
  type Method,
  type RetryClass,
  rateClassOf,
} from './endpoint.js';
export { ApiError, StreamDropped } from './errors.js';
export type { EventStream } from './event-stream.js';
export type { EventFilter, EventPage, WebsetEvent } from './events.js';
export type { FindSimilarRequest, FindSimilarResponse } from './find-similar.js';
export { type LimitProblem, type LimitProfile, limitProfiles, type Range, type ServiceLimits } from './limits.js';
export {
  type MatchedContents,
  type MatchedUnit,
  MISSING_FROM_RESPONSE,
  matchContents,
  NO_CONTENT,
} from './match.js';
export {
  type MonitorBatchRequest,
  type MonitorBatchResponse,
  type MonitorBatchResult,
  readMonitorBatch,
} from './monitor-batch.js';
export type { CreatedMonitor, Monitor, MonitorChanges, MonitorDefinition, MonitorRun } from './monitor-schemas.js';
export type { MonitorFilter, MonitorPage, MonitorRunPage } from './monitors.js';
export {
  type ListOperation,
  listOperations,
  type OperationName,
  type Operations,
  operations,
  operationTable,
  type Streams,
  streams,
} from './operations.js';
export type { PageRequest } from './page.js';
export { type Answer, readKept } from './read-answer.js';
export { type ResearchTask, type ResearchTaskRequest, researchIdOf } from './research.js';
export type { SearchResult } from './result.js';
export { parseHttpDate, parseRetryAfter } from './retry-after.js';
export { type SearchRequest, type SearchResponse, searchEndpoint } from './search.js';
export type { StreamEndpoint } from './stream-endpoint.js';
export { toOutputSchema } from './to-output-schema.js';
export {
  createTransport,
  defaultTimeouts,
  type Input,
  type SendOptions,
  type StreamHooks,
  type StreamOptions,
  type Timeouts,
  type Transport,
  type TransportOptions,
} from './transport.js';
export { verifyWebhook, type WebhookEvent, type WebhookProblem, WebhookRefused } from './verify-webhook.js';
export type { Webset, WebsetItem } from './webset-schemas.js';
export type { WebsetItemFilter, WebsetItemPage, WebsetPage, WebsetRequest } from './websets.js';
