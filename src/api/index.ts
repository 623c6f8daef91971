export type { AnswerHeaders } from './answer-headers.js';
export { type Client, type ClientOptions, createClient, DEFAULT_BASE_URL } from './client.js';
export { contentsEndpoint, type ContentsRequest, type ContentsResponse } from './contents.js';
export { type Endpoint, rateClassOf } from './endpoint.js';
export { ApiError } from './errors.js';
export { type LimitProblem, type LimitProfile, limitProfiles, type Range, type ServiceLimits } from './limits.js';
export {
  type MatchedContents,
  type MatchedUnit,
  matchContents,
  MISSING_FROM_RESPONSE,
  NO_CONTENT,
} from './match.js';
export type { Answer } from './read-answer.js';
export type { SearchResult } from './result.js';
export { parseHttpDate, parseRetryAfter } from './retry-after.js';
export { searchEndpoint, type SearchRequest, type SearchResponse } from './search.js';
export {
  createTransport,
  defaultTimeouts,
  type Input,
  type SendOptions,
  type Timeouts,
  type Transport,
  type TransportOptions,
} from './transport.js';
