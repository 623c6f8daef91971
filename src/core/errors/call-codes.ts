import type { ErrorCode } from './registry.js';

/** Codes of failed calls by the type of their verdict. */
export const callCodes = {
  InvalidRequest: 'request-refused',
  Unauthorized: 'key-refused',
  PaymentRequired: 'credits-used-up',
  ApiKeyMissing: 'key-missing',
  NotFound: 'service-object-unknown',
  RateLimited: 'rate-limited',
  ConcurrencyLimited: 'rate-limited',
  ServiceUnavailable: 'service-unavailable',
  ResponseShape: 'answer-unreadable',
  UnknownOutcome: 'unknown-outcome',
} as const satisfies Readonly<Record<string, ErrorCode>>;

export type FailureType = keyof typeof callCodes;

export function codeOfCall(phase: string, type: FailureType): ErrorCode {
  if (phase === 'refused') return 'request-invalid';
  return phase === 'connect' ? 'service-unreachable' : callCodes[type];
}
