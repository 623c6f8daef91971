export type { AnswerHeaders } from './answer-headers.js';
export { type Client, type ClientOptions, createClient, DEFAULT_BASE_URL } from './client.js';
export { type ContentsRequest, type ContentsResponse, contentsEndpoint } from './contents.js';
export { type Endpoint, rateClassOf } from './endpoint.js';
export { ApiError } from './errors.js';
export { type LimitProblem, type LimitProfile, limitProfiles, type Range, type ServiceLimits } from './limits.js';
export {
  type MatchedContents,
  type MatchedUnit,
  MISSING_FROM_RESPONSE,
  matchContents,
  NO_CONTENT,
} from './match.js';
export type { Answer } from './read-answer.js';
export type { SearchResult } from './result.js';
export { parseHttpDate, parseRetryAfter } from './retry-after.js';
export { type SearchRequest, type SearchResponse, searchEndpoint } from './search.js';
export {
  createTransport,
  defaultTimeouts,
  type Input,
  type SendOptions,
  type Timeouts,
  type Transport,
  type TransportOptions,
} from './transport.js';
