import { STATUS_CODES } from 'node:http';
import { codeOfCall } from '../../core/errors/call-codes.js';
import type { ErrorCode } from '../../core/errors/registry.js';
import { type CallFacts, classify, type Verdict } from '../../core/purchase/failure.js';
import type { Json } from '../../core/text/json.js';
import type { Endpoint } from './endpoint.js';

/** Maximum number of characters of a body that an error keeps. */
export const MAX_KEPT_BODY = 1_048_576;

/** The parts of an `ApiError`. Texts from outside are redacted and cut. */
export interface ApiErrorParts {
  readonly endpoint: Pick<Endpoint<never, unknown>, 'name' | 'method' | 'path' | 'creates'>;
  readonly facts: CallFacts;
  /** The problem: `the connection was refused …`. Absent where the status is enough. */
  readonly reason?: string | null;
  readonly serverMessage?: string | null;
  readonly requestId?: string | null;
  readonly date?: number | null;
  readonly field?: string | null;
  readonly details?: Json;
  readonly aborted?: boolean;
  readonly body?: string | null;
  readonly cause?: Error | null;
}

/**
 * A call without a usable answer. `facts` hold what happened, `verdict` the meaning of the failure (from the one table in core). Neither
 * the message nor a cause holds a key, a header or a full URL.
 */
export class ApiError extends Error {
  override readonly name: string = 'ApiError';
  readonly facts: CallFacts;
  readonly verdict: Verdict;
  readonly errorCode: ErrorCode;
  /** Name of the endpoint, such as `contents`. */
  readonly endpoint: string;
  /** `POST /contents`. */
  readonly route: string;
  /** The service's id of the request, where known. */
  readonly requestId: string | null;
  /** The service's clock when it answered, Unix ms, in whole seconds; null without an answer. */
  readonly date: number | null;
  /** The service's message: one line, at most 300 characters. */
  readonly serverMessage: string | null;
  /** The field of the request that was refused before sending. */
  readonly field: string | null;
  /** The 402 challenge of a call without a key: `x402Version`, `resource`, `accepts`, `extensions`. */
  readonly details: Json;
  /** Whether the caller's signal ended the call. */
  readonly aborted: boolean;
  readonly #body: string | null;

  constructor(parts: ApiErrorParts) {
    super(messageOf(parts), parts.cause ? { cause: parts.cause } : undefined);
    this.facts = parts.facts;
    this.verdict = classify(parts.facts, parts.endpoint.creates);
    this.errorCode = codeOfCall(parts.facts.phase, this.verdict.type);
    this.endpoint = parts.endpoint.name;
    this.route = routeOf(parts);
    this.requestId = parts.requestId ?? null;
    this.date = parts.date ?? null;
    this.serverMessage = parts.serverMessage ?? null;
    this.field = parts.field ?? null;
    this.details = parts.details ?? null;
    this.aborted = parts.aborted ?? false;
    this.#body = parts.body?.slice(0, MAX_KEPT_BODY) ?? null;
  }

  /**
   * The content of an unusable answer that may have been charged (wrong shape, broken off): at most 1 MB of text. This is a
   * getter, so that logs of the error do not hold the text.
   */
  get body(): string | null {
    return this.#body;
  }
}

/**
 * A stream that broke off before its end. The chunks received until then are valid. A run that the stream reported is still in progress:
 * follow the run with a replay from `lastEventId`, or by polling.
 */
export class StreamDropped extends ApiError {
  override readonly name = 'StreamDropped';
  constructor(
    parts: ApiErrorParts,
    readonly lastEventId: string | null,
  ) {
    super(parts);
  }
}

/** Whether a call was answered as a success, and the answer cannot be used. */
export function isUnusable({ aborted, facts: { status } }: ApiError): boolean {
  return !aborted && status !== null && status < 300;
}

function routeOf({ endpoint }: ApiErrorParts): string {
  return `${endpoint.method} ${endpoint.path}`;
}

function messageOf(parts: ApiErrorParts): string {
  const { facts, reason, serverMessage, requestId } = parts;
  const sentences: string[] = [];
  if (facts.status !== null && facts.phase !== 'refused') {
    const status = `${facts.status} ${STATUS_CODES[facts.status] ?? ''}`.trim();
    sentences.push(facts.tag === null ? status : `${status} (${facts.tag})`);
  }
  if (reason) sentences.push(reason);
  // The body of a proxy's answer is often only the status again.
  if (serverMessage && !isStatus(serverMessage, facts.status)) sentences.push(serverMessage);
  const notes: string[] = [];
  if (requestId) notes.push(`request id ${requestId}`);
  if (facts.retryAfterMs !== null) notes.push(`retry in ${Math.ceil(facts.retryAfterMs / 1000)} s`);
  const tail = notes.length === 0 ? '' : ` (${notes.join(', ')})`;
  return `${routeOf(parts)}: ${sentences.join(': ')}${tail}`;
}

/** Whether a text is only the number of a status, its name, or both. */
function isStatus(text: string, status: number | null): boolean {
  const name = STATUS_CODES[status ?? 0] ?? '';
  return [`${status}`, name, `${status} ${name}`].includes(text);
}

/** Returns a network error without sockets, options and nested causes, because these may hold secrets. */
export function plainCause(error: unknown, redact: (text: string) => string): Error | null {
  if (!(error instanceof Error)) return null;
  const cause = new Error(redact(error.message.replace(/[a-z][a-z0-9+.-]*:\/\/\S+/gi, '[url]')).slice(0, 300));
  const code = codeOf(error);
  cause.name = error.name;
  cause.stack = `${cause.name}: ${cause.message}`;
  return code === null ? cause : Object.assign(cause, { code });
}

/** The code of a system, TLS, zlib or undici error, or `null`. */
export function codeOf(error: unknown): string | null {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return typeof code === 'string' ? code : null;
}
