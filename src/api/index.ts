export { type Answer, readKept } from './answer/read-answer.js';
export { type Client, type ClientOptions, createClient, type EachList } from './client.js';
export type { AgentRunEventFilter, AgentRunEventPage, AgentRunPage } from './endpoints/agent-runs.js';
export type { AnswerRequest, AnswerResponse } from './endpoints/answer.js';
export type { AnswerChunk, SearchChunk } from './endpoints/answer-streams.js';
export { type ContentsRequest, type ContentsResponse, contentsEndpoint } from './endpoints/contents.js';
export type { EventFilter, EventPage, WebsetEvent } from './endpoints/events.js';
export type { FindSimilarRequest, FindSimilarResponse } from './endpoints/find-similar.js';
export {
  type MatchedContents,
  type MatchedUnit,
  MISSING_FROM_RESPONSE,
  matchContents,
  NO_CONTENT,
} from './endpoints/match.js';
export {
  type MonitorBatchRequest,
  type MonitorBatchResponse,
  type MonitorBatchResult,
  readMonitorBatch,
} from './endpoints/monitor-batch.js';
export type { MonitorListFilter, MonitorPage, MonitorRunPage } from './endpoints/monitors.js';
export type { ResearchTask, ResearchTaskRequest } from './endpoints/research.js';
export { type SearchRequest, type SearchResponse, searchEndpoint } from './endpoints/search.js';
export type { WebsetItemFilter, WebsetItemPage, WebsetPage, WebsetRequest } from './endpoints/websets.js';
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
export { type AgentRun, type AgentRunEvent, type AgentRunRequest, isTerminal } from './schemas/agent-run-schemas.js';
export type {
  CreatedMonitor,
  Monitor,
  MonitorChanges,
  MonitorDefinition,
  MonitorRun,
} from './schemas/monitor-schemas.js';
export type { PageRequest } from './schemas/page.js';
export type { SearchResult } from './schemas/result.js';
export { toOutputSchema } from './schemas/to-output-schema.js';
export type { Webset, WebsetItem } from './schemas/webset-schemas.js';
export type { EventStream } from './stream/chunk-reader.js';
export type { StreamEndpoint } from './stream/stream-endpoint.js';
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
export type { AnswerHeaders } from './wire/call-failure.js';
export type { Deprecation } from './wire/deprecations.js';
export {
  type AnyEndpoint,
  type ById,
  type Endpoint,
  type Method,
  type RetryClass,
  rateClassOf,
} from './wire/endpoint.js';
export { ApiError, StreamDropped } from './wire/errors.js';
export { parseHttpDate, parseRetryAfter } from './wire/parse-retry-after.js';
