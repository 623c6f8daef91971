import type { CallFacts } from '../../core/purchase/failure.js';
import type { Redact } from '../checks/redact.js';
import { type AnswerHeaders, header } from './answer-headers.js';
import { addressProblem, connectProblem } from './connect-problem.js';
import { decodeBody } from './decode-body.js';
import { readErrorEnvelope } from './error-envelope.js';
import { ApiError, type ApiErrorParts, codeOf, MAX_KEPT_BODY, plainCause } from './errors.js';
import type { Exchange } from './exchange.js';
import { parseRetryAfter } from './retry-after.js';

/** What a failure needs to know of the call beside what came of it. */
export interface CallContext {
  readonly endpoint: ApiErrorParts['endpoint'];
  readonly base: URL;
  readonly timeouts: { readonly headersMs: number; readonly bodyMs: number; readonly totalMs: number };
  readonly redact: Redact;
}

type Broken = NonNullable<Exchange['broken']>;

const nothing = { status: null, tag: null, retryAfterMs: null } as const;

/** The request was wrong and never left: the message names the field. */
export function refused(call: CallContext, field: string, message: string): ApiError {
  const reason = `refused before sending: ${call.redact(message)}`;
  return new ApiError({ endpoint: call.endpoint, facts: { phase: 'refused', ...nothing }, reason, field });
}

/** No status line came. Whether the request was ever sent is certain, see `exchange`. */
export function noAnswer(call: CallContext, started: boolean, broken: Broken): ApiError {
  return new ApiError({
    endpoint: call.endpoint,
    facts: { phase: started ? 'sent' : 'connect', ...nothing },
    reason: started ? lostReason(call, broken) : unsentReason(call, broken),
    aborted: broken.by === 'caller',
    cause: plainCause(broken.error, call.redact),
  });
}

function unsentReason({ base, timeouts }: CallContext, { by, error }: Broken): string {
  if (by === 'caller') return 'cancelled before it was sent';
  if (by === 'total') return `not sent: no connection was free within ${timeouts.totalMs / 1000} s`;
  return connectProblem(codeOf(error), base.host);
}

/** Why the answer did not come, or not to its end. */
export function lostReason({ timeouts }: CallContext, { by, error }: Broken): string {
  if (by === 'caller') return 'cancelled before the answer had come';
  if (by === 'total') return `no whole answer within ${timeouts.totalMs / 1000} s`;
  const code = codeOf(error);
  if (code === 'UND_ERR_HEADERS_TIMEOUT') return `no answer began within ${timeouts.headersMs / 1000} s`;
  if (code === 'UND_ERR_BODY_TIMEOUT') return `the answer stalled for ${timeouts.bodyMs / 1000} s`;
  if (code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') return 'the answer is not as long as it says';
  if (code?.startsWith('HPE_')) return `the answer is not HTTP [${code}]`;
  return `the connection was lost before the answer had come${code === null ? '' : ` [${code}]`}`;
}

/**
 * The service answered with something other than success. The status line is an answer even where the body broke off:
 * a 429 is never charged, whatever became of its text.
 */
export async function badStatus(
  call: CallContext,
  came: Exchange,
  status: number,
  said: AnswerHeaders,
): Promise<ApiError> {
  const encoding = header(came.headers, 'content-encoding');
  const body = await decodeBody(came.body, encoding, MAX_KEPT_BODY).catch(() => null);
  const envelope = readErrorEnvelope(body?.toString('utf8') ?? '', call.redact);
  // The service's own clock, where it tells: a date is then right even if the two clocks disagree.
  const retryAfterMs = parseRetryAfter(header(came.headers, 'retry-after'), said.date ?? Date.now());
  return new ApiError({
    endpoint: call.endpoint,
    facts: { phase: 'answer', status, tag: envelope.tag, retryAfterMs },
    reason: addressProblem(status, header(came.headers, 'location'), call.base.href),
    serverMessage: envelope.message,
    requestId: said.requestId ?? envelope.requestId,
    details: status === 402 ? envelope.challenge : null,
    aborted: came.broken?.by === 'caller',
  });
}

/** What is wrong with a success. */
export interface Unusable {
  readonly kind: 'wrongShape' | 'truncated' | 'unrecognized';
  readonly reason: string;
  readonly error?: unknown;
  /** See {@link ReadJson}. */
  readonly whole?: boolean | undefined;
  /** What came of it. */
  readonly kept: Buffer;
}

/** A success that can't be used. It may well be paid for, so what came of it is kept. */
export function unusable(call: CallContext, came: Exchange, said: AnswerHeaders, wrong: Unusable): ApiError {
  const facts: CallFacts = { ...nothing, phase: wrong.kind === 'truncated' ? 'sent' : 'answer', status: came.status };
  return new ApiError({
    endpoint: call.endpoint,
    facts: { ...facts, [wrong.kind]: true, ...(wrong.whole ? { unrecognized: true } : {}) },
    reason: wrong.reason,
    requestId: said.requestId,
    body: call.redact(wrong.kept.subarray(0, MAX_KEPT_BODY + 4096).toString('utf8')),
    aborted: came.broken?.by === 'caller',
    cause: plainCause(wrong.error, call.redact),
  });
}

/** The success whose body did not come to its end, or was larger than we read. */
export function cutShort(call: CallContext, came: Exchange, said: AnswerHeaders, broken: Broken): ApiError {
  const { error } = broken;
  const refusedSize = broken.by === 'size' && error instanceof Error;
  return unusable(call, came, said, {
    kind: refusedSize ? 'wrongShape' : 'truncated',
    reason: refusedSize ? error.message : lostReason(call, broken),
    error,
    kept: came.body,
  });
}
