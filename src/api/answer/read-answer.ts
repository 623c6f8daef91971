import { toMicros } from '../../core/text/money.js';
import { Secret } from '../../core/text/secret.js';
import { fieldOf } from '../checks/field-of.js';
import { pathAt } from '../checks/members.js';
import { MAX_NESTING } from '../checks/nesting.js';
import { oneLine } from '../checks/redact.js';
import { hasKnownField, isShape, type Misread, shapeProblem, withoutMisfits } from '../checks/shape.js';
import { type AnswerHeaders, header } from '../wire/answer-headers.js';
import { type CallContext, cutShort, type Unusable, unusable } from '../wire/call-failure.js';
import { decodeBody, UnreadableBody } from '../wire/decode-body.js';
import type { Endpoint } from '../wire/endpoint.js';
import type { Exchange } from '../wire/exchange.js';
import { type ReadJson, readJson } from './read-json.js';

/** A whole, well-formed answer. */
export interface Answer<O> extends AnswerHeaders {
  /**
   * The very value that came, unknown fields and all; secrets are wrapped. Where a paid answer has fields that don't fit
   * their types, a copy in which these are null or empty.
   */
  readonly data: O;
  /** Those fields, and those that are nested too deep, which are texts. */
  readonly misread: readonly Misread[];
  /** The JSON text as it came, each digit of it; empty where it holds secrets. */
  readonly raw: () => Uint8Array;
  readonly status: number;
  /** Cost of the request in micro-dollars, from `costDollars.total` (interface section 2.2). */
  readonly costMicros: number | null;
  /** Size of the body, decompressed. */
  readonly bytes: number;
}

/** Reads a success of `endpoint`: decompressed, parsed, of the right shape; rejects with `ApiError` otherwise. */
export async function readAnswer<I, O>(
  endpoint: Endpoint<I, O>,
  call: CallContext,
  came: Exchange,
  said: AnswerHeaders,
  maxBytes: number,
): Promise<Answer<O>> {
  // A body that holds a secret is not kept.
  const kept = (body: Buffer): Buffer => (endpoint.secrets ? Buffer.alloc(0) : body);
  const fail = (wrong: Unusable) => unusable(call, came, said, { ...wrong, kept: kept(wrong.kept) });
  const body = await wholeBody(call, came, said, maxBytes, kept);
  const framed = isFramed(came);
  // What a deletion answers with isn't shown: nothing at all is fine.
  const nothing = body.length === 0 && endpoint.method === 'DELETE';
  const read: ReadJson = nothing ? { value: {} } : readJson(body, framed);
  if (!('value' in read)) throw fail({ ...read, kept: body });
  const value = sealed(read.value, endpoint.secrets);
  if (!nothing && !isTheServices(endpoint, value)) {
    const reason = `the answer has no field of the service's (section ${endpoint.section})`;
    throw fail({ kind: 'unrecognized', reason, kept: body });
  }
  const fits = readLeniently(endpoint, value);
  if (fits === null) {
    const { field, message } = shapeProblem(endpoint.response, value);
    const reason = `the answer has the wrong shape (section ${endpoint.section}): ${field || 'the whole'}: ${message}`;
    throw fail({ kind: 'wrongShape', reason, kept: body });
  }
  const text = cutText(read, body);
  const id = fieldOf(value, 'requestId');
  const cost = fieldOf(value, 'costDollars');
  return {
    ...said,
    requestId: said.requestId ?? (typeof id === 'string' ? oneLine(call.redact(id), 200) || null : null),
    data: fits.value,
    misread: [...fits.misread, ...text.misread],
    raw: () => (endpoint.secrets ? Buffer.alloc(0) : text.json),
    status: came.status ?? 0,
    costMicros: toMicros(typeof cost === 'number' ? cost : fieldOf(cost, 'total')),
    bytes: body.length,
  };
}

/** A value as the endpoint's answer: of a paid one without the fields that don't fit. Null where it is none. */
export function readLeniently<I, O>(
  { response, paid, lenient }: Pick<Endpoint<I, O>, 'response' | 'paid' | 'lenient'>,
  value: unknown,
): { readonly value: O; readonly misread: readonly Misread[] } | null {
  if (isShape(response, value)) return { value, misread: [] };
  return paid || lenient ? withoutMisfits(response, value) : null;
}

/** Reads the body of an answer that was kept; null where it is not the service's, or of the wrong shape. */
export function readKept<I, O>(
  endpoint: Endpoint<I, O>,
  body: Buffer,
): Pick<Answer<O>, 'data' | 'misread' | 'raw'> | null {
  const read = readJson(body, true);
  if (!('value' in read) || !isTheServices(endpoint, read.value)) return null;
  const fits = readLeniently(endpoint, read.value);
  if (fits === null) return null;
  const text = cutText(read, body);
  return { data: fits.value, misread: [...fits.misread, ...text.misread], raw: () => text.json };
}

/** The text that was read, and what of it was nested too deep. */
function cutText(
  read: Extract<ReadJson, { readonly value: unknown }>,
  body: Buffer,
): { readonly json: Buffer; readonly misread: readonly Misread[] } {
  const { cut } = read;
  if (!cut) return { json: body, misread: [] };
  const json = Buffer.from(cut.text);
  const path = pathAt(json, Buffer.byteLength(cut.text.slice(0, cut.at)));
  return { json, misread: [{ path, message: `more than ${MAX_NESTING} levels, the deepest kept as a text` }] };
}

/** The body of a success, decompressed; rejects with `ApiError` where it broke off or can't be read. `kept`: what an error keeps of it. */
export async function wholeBody(
  call: CallContext,
  came: Exchange,
  said: AnswerHeaders,
  maxBytes: number,
  kept: (body: Buffer) => Buffer = (body) => body,
): Promise<Buffer> {
  if (came.broken) throw cutShort(call, { ...came, body: kept(came.body) }, said, came.broken);
  try {
    return await decodeBody(came.body, header(came.headers, 'content-encoding'), maxBytes);
  } catch (error) {
    if (!(error instanceof UnreadableBody)) throw error;
    throw unusable(call, came, said, {
      kind: error.kind === 'refused' ? 'wrongShape' : 'truncated',
      reason: error.message,
      error: error.cause,
      kept: kept(came.body),
    });
  }
}

/** An answer to a free call may be empty, as that of a deletion is: where its shape is right it is taken. */
function isTheServices<I, O>({ response, paid }: Endpoint<I, O>, value: unknown): boolean {
  return hasKnownField(response, value) || (!paid && isShape(response, value));
}

/** Whether a length or chunks said where the body ends. */
export function isFramed({ headers }: Exchange): boolean {
  return header(headers, 'content-length') !== null || header(headers, 'transfer-encoding') !== null;
}

/** The value with its secrets wrapped, wherever in it they are, so that they print nowhere. */
function sealed(value: unknown, names: readonly string[] = []): unknown {
  if (names.length === 0 || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => sealed(item, names));
  const fields = Object.entries(value).map(([name, field]) => [
    name,
    names.includes(name) && typeof field === 'string' ? new Secret(field) : sealed(field, names),
  ]);
  return Object.fromEntries(fields);
}
