import type { FailureType } from '../errors/call-codes.js';

/**
 * The meaning of a failed call, in one table. Activities make Temporal failures from the table; purchases and the limiter act on its
 * verdicts. API reference: errors. The public service also sends 403, 409, 422, 501, 503 and 504, which the API reference does not list.
 */
export type { FailureType };

/**
 * The phase in which a call failed. `refused`: before sending; `connect`: no byte of the call reached the service; `sent`: no complete
 * answer came; `answer`: a complete answer came.
 */
export type CallPhase = 'refused' | 'connect' | 'sent' | 'answer';

/** The facts of a failed call from the wire layer. Never holds a key or a body. */
export interface CallFacts {
  readonly phase: CallPhase;
  /** HTTP status, or `null` where no status line came. */
  readonly status: number | null;
  /** `tag` of the standard envelope or `error.code` of the agent envelope, if any. */
  readonly tag: string | null;
  /** Delay asked for by `Retry-After`, in milliseconds, or `null`. */
  readonly retryAfterMs: number | null;
  /** The answer is complete but does not match the schema of the operation. */
  readonly wrongShape?: boolean;
  /** The answer broke off or could not be decoded. */
  readonly truncated?: boolean;
  /**
   * The answer is complete but is not from the service: it is not JSON, or has no field of the contract. A proxy, a gateway or a portal may
   * have sent the answer.
   */
  readonly unrecognized?: boolean;
}

/** How to handle a failed call. */
export interface Verdict {
  readonly type: FailureType;
  readonly retry: boolean;
  /** Whether the service may have charged for the call although no answer landed. */
  readonly charged: 'never' | 'maybe';
  /** Whether all callers of the team must wait, not only this call. */
  readonly blocks: boolean;
}

function verdict(type: FailureType, retry: boolean, charged: Verdict['charged'] = 'never', blocks = false): Verdict {
  return { type, retry, charged, blocks };
}

/** Maps the facts of a failed call to the verdict. Pure. */
export function classify(facts: CallFacts, creates = false): Verdict {
  if (facts.phase === 'refused') return verdict('InvalidRequest', false);
  if (facts.phase === 'connect') return verdict('ServiceUnavailable', true);
  const { status, tag } = facts;
  if (facts.wrongShape) return verdict('ResponseShape', false, 'maybe');
  // A gateway that refuses or redirects a request has not passed the request on.
  if (facts.unrecognized && status !== null && status >= 300) return verdict('ServiceUnavailable', true);
  if (status === null || facts.truncated || facts.unrecognized) return verdict('ServiceUnavailable', true, 'maybe');
  // A redirect is not followed. A redirect on the same host means that the service is not at this address.
  if (status >= 300 && status < 400) return verdict('NotFound', false);
  switch (status) {
    case 401:
    case 403:
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
