import type { IncomingHttpHeaders } from 'node:http';
import { connectProblem, statusProblem, strangerProblem } from '../../core/connections/connect-problem.js';
import type { CallFacts } from '../../core/purchase/failure.js';
import { oneLine, type Redact } from '../checks/redact.js';
import { decodeBody, keptText } from './decode-body.js';
import { type ErrorEnvelope, readErrorEnvelope } from './error-envelope.js';
import { ApiError, type ApiErrorParts, codeOf, MAX_KEPT_BODY, plainCause } from './errors.js';
import type { Exchange } from './exchange.js';
import { parseHttpDate, parseRetryAfter } from './parse-retry-after.js';

/** The facts of a call from which the error of the call is made. */
export interface CallContext {
  readonly endpoint: ApiErrorParts['endpoint'];
  readonly base: URL;
  /** The setting that has the base URL. */
  readonly setting: string;
  readonly timeouts: { readonly headersMs: number; readonly bodyMs: number; readonly totalMs: number };
  readonly redact: Redact;
  readonly redactBytes: (body: Buffer) => Buffer;
}

type Broken = NonNullable<Exchange['broken']>;

const nothing = { status: null, tag: null, retryAfterMs: null } as const;

/** Returns the error of a bad request that was not sent; the message names the field. */
export function refused(call: CallContext, field: string, message: string): ApiError {
  const reason = `refused before sending: ${call.redact(message)}`;
  return new ApiError({ endpoint: call.endpoint, facts: { phase: 'refused', ...nothing }, reason, field });
}

/** Returns the error of a call that got no status line. `started`: whether the request may have been sent, see `exchange`. */
export function noAnswer(call: CallContext, started: boolean, broken: Broken): ApiError {
  const refusal = broken.by === 'wire' ? proxyRefusal(broken.error) : null;
  if (refusal !== null) return refusedByProxy(call, refusal);
  return new ApiError({
    endpoint: call.endpoint,
    facts: { phase: started ? 'sent' : 'connect', ...nothing },
    reason: started ? lostReason(call, broken) : unsentReason(call, broken),
    aborted: broken.by === 'caller',
    cause: plainCause(broken.error, call.redact),
  });
}

/** The status with which a proxy refused a request or a tunnel, which undici gives in its message only; null for other errors. */
function proxyRefusal(error: unknown): number | null {
  const found = /^Proxy (?:response|Authentication Required) \((\d{3})\)/.exec(
    error instanceof Error ? error.message : '',
  );
  return found ? Number(found[1]) : null;
}

/** A proxy that refuses is another server, which a person must see to. Any other status says that it cannot reach the service now. */
function refusedByProxy(call: CallContext, status: number): ApiError {
  const isRefusal = status >= 400 && status < 500;
  return new ApiError({
    endpoint: call.endpoint,
    facts: isRefusal ? { ...nothing, phase: 'answer', status, unrecognized: true } : { ...nothing, phase: 'connect' },
    reason: isRefusal
      ? strangerProblem(status, call.base.host, call.setting)
      : `the proxy (HTTPS_PROXY) cannot reach ${call.base.host}: it answered ${status}`,
  });
}

/** Statuses that have one meaning, from the service and from any server before it. */
const sameFromAll: readonly number[] = [408, 413, 414, 429];

/** Whether an answer is the refusal of a gateway or proxy. The service also has 401 and 403, in its own form, and refuses in JSON. */
function isStranger(status: number, { form }: ErrorEnvelope): boolean {
  if (form === 'page' && status >= 400 && status < 500) return !sameFromAll.includes(status);
  const isForbidden = status === 403 || status === 451;
  return [407, 511].includes(status) || (status === 401 && form === 'other') || (isForbidden && form !== 'own');
}

/** Whether an answer is a redirect to another host: a gateway or portal wants a login there, or the base URL is wrong. */
function leadsElsewhere(status: number, location: string | null, { href, host }: URL): boolean {
  if (status < 300 || status > 399 || location === null || !URL.canParse(location, href)) return false;
  return new URL(location, href).host !== host;
}

function unsentReason({ base, timeouts, setting }: CallContext, { by, error }: Broken): string {
  if (by === 'caller') return 'cancelled before it was sent';
  if (by === 'total') return `not sent: no connection was free within ${timeouts.totalMs / 1000} s`;
  return connectProblem(codeOf(error), base.host, setting);
}

/** Why an answer is missing or incomplete. */
export function lostReason({ timeouts }: CallContext, { by, error }: Broken): string {
  if (by === 'caller') return 'cancelled before the answer was complete';
  if (by === 'total') return `no complete answer within ${timeouts.totalMs / 1000} s`;
  const code = codeOf(error);
  if (code === 'UND_ERR_HEADERS_TIMEOUT') return `no answer began within ${timeouts.headersMs / 1000} s`;
  if (code === 'UND_ERR_BODY_TIMEOUT') return `the answer stalled for ${timeouts.bodyMs / 1000} s`;
  if (code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') return 'the answer is not as long as it says';
  if (code?.startsWith('HPE_')) return `the answer is not HTTP [${code}]`;
  return `the connection was lost before the answer was complete${code === null ? '' : ` [${code}]`}`;
}

/** Returns the error of an answer whose status is a failure. The status counts even where the body broke off: a 429 is never charged. */
export async function badStatus({ call, received, answerHeaders }: Arrived): Promise<ApiError> {
  const status = received.status as number;
  const encoding = header(received.headers, 'content-encoding');
  const body = await decodeBody(received.body, encoding, MAX_KEPT_BODY).catch(() => null);
  const envelope = readErrorEnvelope(body?.toString('utf8') ?? '', call.redact);
  // A date in `Retry-After` is compared with the service's own clock where that clock is known, so that different clocks do not matter.
  const retryAfterMs = parseRetryAfter(header(received.headers, 'retry-after'), answerHeaders.date ?? Date.now());
  const location = header(received.headers, 'location');
  const unrecognized = isStranger(status, envelope) || leadsElsewhere(status, location, call.base);
  return new ApiError({
    endpoint: call.endpoint,
    facts: { phase: 'answer', status, tag: envelope.tag, retryAfterMs, unrecognized: unrecognized || undefined },
    reason:
      unrecognized && status >= 400
        ? strangerProblem(status, call.base.host, call.setting)
        : status === 401 && envelope.form === 'none'
          ? `the answer is empty, so a gateway or proxy before ${call.base.host} may have sent it`
          : statusProblem(status, location, call.base.href, call.setting),
    serverMessage: envelope.message,
    requestId: answerHeaders.requestId ?? envelope.requestId,
    date: answerHeaders.date,
    details: status === 402 ? envelope.challenge : null,
    aborted: received.broken?.by === 'caller',
  });
}

/** The problem of an unusable success. */
export interface Unusable {
  readonly kind: 'wrongShape' | 'truncated' | 'unrecognized';
  readonly reason: string;
  readonly error?: unknown;
  /** See {@link ReadJson}. */
  readonly whole?: boolean | undefined;
  /** The bytes that came. */
  readonly kept: Buffer;
}

/** Returns the error of an unusable success. The request may have been charged, so the bytes of the answer are kept. */
export function unusable({ call, received, answerHeaders }: Arrived, wrong: Unusable): ApiError {
  const facts: CallFacts = {
    ...nothing,
    phase: wrong.kind === 'truncated' ? 'sent' : 'answer',
    status: received.status,
  };
  return new ApiError({
    endpoint: call.endpoint,
    facts: { ...facts, [wrong.kind]: true, unrecognized: wrong.whole || wrong.kind === 'unrecognized' || undefined },
    reason: wrong.reason,
    requestId: answerHeaders.requestId,
    date: answerHeaders.date,
    body: call.redact(keptText(wrong.kept.subarray(0, MAX_KEPT_BODY + 4096))),
    aborted: received.broken?.by === 'caller',
    cause: plainCause(wrong.error, call.redact),
  });
}

/** Returns the error of a success whose body is incomplete or above the size limit. */
export function cutShort(arrived: Arrived, broken: Broken, kept: Buffer): ApiError {
  const { error } = broken;
  const refusedSize = broken.by === 'size' && error instanceof Error;
  return unusable(arrived, {
    kind: refusedSize ? 'wrongShape' : 'truncated',
    reason: refusedSize ? error.message : lostReason(arrived.call, broken),
    error,
    kept,
  });
}

/** The contract names the queue headers `x-svc-…`, the public service `x-exa-…`. */
const prefixes = ['x-svc-', 'x-exa-'] as const;

export interface AnswerHeaders {
  readonly requestId: string | null;
  /** Whether the call waited in the service's own queue, as calls do when the team is close to its limit. */
  readonly queued: boolean | null;
  readonly queueMs: number | null;
  /** The service's clock, Unix ms, in whole seconds. */
  readonly date: number | null;
  /** The `Deprecation` header, unparsed. */
  readonly deprecation: string | null;
}

/** The first value of a header, or `null`. */
export function header(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
}

function prefixed(headers: IncomingHttpHeaders, name: string): string | null {
  for (const prefix of prefixes) {
    const value = header(headers, prefix + name);
    if (value !== null) return value.trim().toLowerCase();
  }
  return null;
}

/** An answer with the facts of its headers. */
export interface Arrived {
  readonly call: CallContext;
  readonly received: Exchange;
  readonly answerHeaders: AnswerHeaders;
}

export function arrivedOf(call: CallContext, received: Exchange): Arrived {
  return { call, received, answerHeaders: readAnswerHeaders(received.headers, Date.now(), call.redact) };
}

export function readAnswerHeaders(headers: IncomingHttpHeaders, now: number, redact: Redact): AnswerHeaders {
  const id = header(headers, 'x-request-id');
  const date = header(headers, 'date');
  const deprecation = header(headers, 'deprecation');
  const queued = prefixed(headers, 'queued');
  const queueMs = prefixed(headers, 'queue-ms');
  return {
    requestId: id === null ? null : oneLine(redact(id), 200) || null,
    queued: queued === 'true' ? true : queued === 'false' ? false : null,
    queueMs: queueMs !== null && /^\d+(\.\d+)?$/.test(queueMs) ? Number(queueMs) : null,
    date: date === null ? null : parseHttpDate(date, now),
    deprecation: deprecation === null ? null : oneLine(redact(deprecation), 200),
  };
}
