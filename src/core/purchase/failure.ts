/**
 * What a failed call means, in one table. Activities turn it into Temporal failures, purchase and the limiter act on it.
 * Sections 4 and 7 of the interface; 403, 409, 422, 501, 503 and 504 are seen from the public service.
 */
export const failureTypes = [
  'InvalidRequest',
  'Unauthorized',
  'PaymentRequired',
  'ApiKeyMissing',
  'NotFound',
  'RateLimited',
  'ConcurrencyLimited',
  'ServiceUnavailable',
  'ResponseShape',
  'UnknownOutcome',
] as const;
export type FailureType = (typeof failureTypes)[number];

/** Where a call was when it failed. `refused`: before sending; `connect`: no byte of it reached the service; `sent`: no full answer came; `answer`: a full answer came. */
export type CallPhase = 'refused' | 'connect' | 'sent' | 'answer';

/** The facts of a failed call, as the wire layer saw them. Never holds a key or a body. */
export interface CallFacts {
  readonly phase: CallPhase;
  /** HTTP status, or `null` where no status line came. */
  readonly status: number | null;
  /** `tag` of the standard envelope or `error.code` of the agent envelope, if any. */
  readonly tag: string | null;
  /** Delay asked for by `Retry-After`, in milliseconds, or `null`. */
  readonly retryAfterMs: number | null;
  /** The answer came whole but was not what section 4 describes. */
  readonly wrongShape?: boolean;
  /** The answer broke off or could not be decoded. */
  readonly truncated?: boolean;
  /** The answer came whole but is not the service's: no JSON, or no field of its contract. A proxy or a portal may have sent it. */
  readonly unrecognized?: boolean;
}

/** What to do about a failed call. */
export interface Verdict {
  readonly type: FailureType;
  readonly retry: boolean;
  /** Whether the service may have charged for the call although no answer landed. */
  readonly charged: 'never' | 'maybe';
  /** Every caller of the team must hold back, not just this call. */
  readonly blocks: boolean;
}

const verdict = (type: FailureType, retry: boolean, charged: 'never' | 'maybe' = 'never', blocks = false): Verdict => ({
  type,
  retry,
  charged,
  blocks,
});

/** Maps the facts of a failed call to its meaning. Pure. */
export function classify(facts: CallFacts, creates = false): Verdict {
  if (facts.phase === 'refused') return verdict('InvalidRequest', false);
  if (facts.phase === 'connect') return verdict('ServiceUnavailable', true);
  const { status, tag } = facts;
  if (facts.wrongShape) return verdict('ResponseShape', false, 'maybe');
  if (status === null || facts.truncated || facts.unrecognized) return verdict('ServiceUnavailable', true, 'maybe');
  // A redirect is never followed, and never about what was asked: the service is not at this address.
  if (status >= 300 && status < 400) return verdict('NotFound', false);
  switch (status) {
    case 401:
    case 403:
    case 407:
      return verdict('Unauthorized', false);
    case 402:
      return verdict(tag === 'X402_PAYMENT_REQUIRED' ? 'ApiKeyMissing' : 'PaymentRequired', false);
    case 404:
    case 410:
      return verdict('NotFound', false);
    case 408:
      return verdict('ServiceUnavailable', true, 'maybe');
    case 429:
      return tag === 'CONCURRENCY_LIMIT_REACHED'
        ? verdict(creates ? 'ConcurrencyLimited' : 'RateLimited', true)
        : verdict('RateLimited', true, 'never', true);
    case 503:
      return verdict('ServiceUnavailable', true);
    case 501:
      return verdict('InvalidRequest', false);
  }
  if (status >= 500) return verdict('ServiceUnavailable', true, 'maybe');
  return verdict('InvalidRequest', false);
}

/**
 * Tags of failed rows that may go better another time: `--retry-failed` asks for these again, nothing else. A refused request
 * cost nothing, and what refused it may have been mended.
 */
export const transientTags: readonly string[] = [
  'CRAWL_TIMEOUT',
  'CRAWL_LIVECRAWL_TIMEOUT',
  'CRAWL_UNKNOWN_ERROR',
  'CRAWL_HTTP_429',
  'CRAWL_HTTP_500',
  'CRAWL_HTTP_502',
  'CRAWL_HTTP_503',
  'CRAWL_HTTP_504',
  'MISSING_FROM_RESPONSE',
  'UNKNOWN_OUTCOME',
  'RUN_FAILED',
  'RUN_CANCELLED',
  'RUN_GONE',
  'RUN_OVERDUE',
  'INVALID_REQUEST',
  'INVALID_REQUEST_BODY',
  'INVALID_URLS',
  'DEFAULT_ERROR',
  'PREVIOUS_RUN_NOT_FOUND',
  'PREVIOUS_RUN_NOT_COMPLETED',
];
