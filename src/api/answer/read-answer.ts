import { createHash } from 'node:crypto';
import { Secret } from '../../core/connections/secret.js';
import type { ServiceWarning } from '../../core/row-job-schemas.js';
import { addWarnings, MOST_WARNINGS } from '../../core/rows/warnings.js';
import { fieldOf, textOf } from '../checks/field-of.js';
import { listsOf, pathAt } from '../checks/members.js';
import { MAX_NESTING } from '../checks/nesting.js';
import { oneLine, type Redact } from '../checks/redact.js';
import { hasKnownField, isShape, type Misread, shapeProblem, withoutMisfits } from '../checks/shape.js';
import { costOf } from '../schemas/result.js';
import { type AnswerHeaders, type Arrived, cutShort, header, type Unusable, unusable } from '../wire/call-failure.js';
import { decodeBody, decodedToKeep, UnreadableBody } from '../wire/decode-body.js';
import type { Endpoint } from '../wire/endpoint.js';
import type { Exchange } from '../wire/exchange.js';
import { type ReadJson, readJson } from './read-json.js';

/** A complete, well-formed answer. */
export interface Answer<O> extends AnswerHeaders {
  /**
   * The value exactly as received, including unknown fields; secrets are wrapped. For an answer with fields of wrong types: a copy in which
   * these fields are null or empty.
   */
  readonly data: O;
  /** Fields of wrong types, and fields that are nested too deep and kept as texts. */
  readonly misread: readonly Misread[];
  /** The JSON text exactly as received; empty where the answer holds secrets. */
  readonly raw: () => Uint8Array;
  /** The elements of a list of the answer, each exactly as received; null where the answer has no list of this name, or holds secrets. */
  readonly rawList: (name: string) => readonly Uint8Array[] | null;
  readonly status: number;
  /** Cost of the request in micro-dollars, from `costDollars.total` (API reference: prices). */
  readonly costMicros: number | null;
  readonly warnings: readonly ServiceWarning[];
  /** Size of the decompressed body. */
  readonly bytes: number;
}

const EMPTY = Buffer.alloc(0);

/** Reads a success of `endpoint` to a request: decompressed, parsed and checked. Rejects with `ApiError` otherwise. */
export async function readAnswer<I, O>(
  endpoint: Endpoint<I, O>,
  arrived: Arrived,
  maxBytes: number,
  request?: unknown,
): Promise<Answer<O>> {
  const { call, received, answerHeaders } = arrived;
  // A body that holds a secret is not kept.
  const kept = (body: Buffer): Buffer => (endpoint.secrets ? EMPTY : body);
  const fail = (wrong: Unusable) => unusable(arrived, { ...wrong, kept: kept(wrong.kept) });
  const body = await wholeBody(arrived, maxBytes, kept);
  const framed = isFramed(received);
  // The answer to a deletion is not used, so an empty answer is accepted.
  const nothing = body.length === 0 && endpoint.method === 'DELETE';
  const read: ReadJson = nothing ? { value: {} } : readJson(body, framed);
  if (!('value' in read)) throw fail({ ...read, kept: body });
  const { value, oddId } = withId(endpoint, sealed(read.value, endpoint.secrets), request);
  if (!nothing && !isTheServices(endpoint, value)) {
    const reason = `the answer has no known field of ${endpoint.name}`;
    throw fail({ kind: 'unrecognized', reason, kept: body });
  }
  const lack = endpoint.lacks(value);
  const fits = lack === null ? readLeniently(endpoint, value) : null;
  if (fits === null) {
    const { field, message } = lack === null ? shapeProblem(endpoint.response, value) : lack;
    const reason = `the answer has the wrong shape: ${field || 'the whole'}: ${message}`;
    throw fail({ kind: 'wrongShape', reason, kept: body });
  }
  const text = cutText(read, body);
  const id = fieldOf(value, 'requestId');
  return {
    ...answerHeaders,
    requestId: answerHeaders.requestId ?? (typeof id === 'string' ? oneLine(call.redact(id), 200) || null : null),
    data: fits.value,
    misread: [...oddId, ...fits.misread, ...text.misread],
    raw: () => (endpoint.secrets ? EMPTY : text.json),
    rawList: (name) => (endpoint.secrets ? null : text.list(name)),
    status: received.status ?? 0,
    costMicros: costOf(value),
    warnings: readWarnings(value, call.redact),
    bytes: body.length,
  };
}

/** Returns an answer that is one record with the id of its request, where its own cannot be read. */
function withId<I, O>({ record, response }: Endpoint<I, O>, value: unknown, request: unknown) {
  const [own, id] = [fieldOf(value, 'id'), record === undefined ? undefined : fieldOf(request, record)];
  if (typeof id !== 'string' || typeof own === 'string' || !hasKnownField(response, value)) return { value, oddId: [] };
  const oddId: readonly Misread[] = [
    { path: ['id'], message: `expected string, received ${own === undefined ? 'none' : typeof own}` },
  ];
  return { value: { ...(value as object), id }, oddId };
}

/**
 * Returns a value as the endpoint's answer; fields of wrong types become null or empty, except in the answer to a free call with an effect,
 * whose effect is then looked up, unless the answer holds a secret that comes only once. Returns null where the value does not fit and cannot
 * be corrected in this way.
 */
export function readLeniently<I, O>(
  { response, paid, idempotent, tellsOnce }: Pick<Endpoint<I, O>, 'response' | 'paid' | 'idempotent' | 'tellsOnce'>,
  value: unknown,
): { readonly value: O; readonly misread: readonly Misread[] } | null {
  if (isShape(response, value)) return { value, misread: [] };
  return paid || idempotent || tellsOnce ? withoutMisfits(response, value, paid) : null;
}

/** Reads the body of a kept answer. Returns null where another server sent the answer, or where the body has the wrong shape. */
export function readKept<I, O>(
  endpoint: Endpoint<I, O>,
  body: Buffer,
): Pick<Answer<O>, 'data' | 'misread' | 'raw' | 'rawList'> | null {
  const read = readJson(body, true);
  if (!('value' in read) || !isTheServices(endpoint, read.value) || endpoint.lacks(read.value)) return null;
  const fits = readLeniently(endpoint, read.value);
  if (fits === null) return null;
  const text = cutText(read, body);
  return { data: fits.value, misread: [...fits.misread, ...text.misread], raw: () => text.json, rawList: text.list };
}

/** Returns the JSON that was parsed, its lists, and the place of the first value that was nested too deep. */
function cutText(read: Extract<ReadJson, { readonly value: unknown }>, body: Buffer) {
  const { cut, lists } = read;
  const json = cut ? Buffer.from(cut.text) : body;
  const list = (name: string) => (lists ?? listsOf(json))?.get(name) ?? null;
  if (!cut) return { json, list, misread: [] };
  const path = pathAt(json, Buffer.byteLength(cut.text.slice(0, cut.at)));
  return { json, list, misread: [{ path, message: `more than ${MAX_NESTING} levels, the deepest kept as a text` }] };
}

/**
 * Returns the decompressed body of a success, and takes it out of `received`. Rejects with `ApiError` where the body broke off or cannot be
 * read. `kept` returns the part of the body that the error holds.
 */
export async function wholeBody(
  arrived: Arrived,
  maxBytes: number,
  kept: (body: Buffer) => Buffer = (body) => body,
): Promise<Buffer> {
  const { call, received } = arrived;
  if (received.broken) throw cutShort(arrived, received.broken, kept(received.body));
  const encoding = header(received.headers, 'content-encoding');
  try {
    const body = call.redactBytes(await decodeBody(received.body, encoding, maxBytes));
    received.body = EMPTY;
    return body;
  } catch (error) {
    if (!(error instanceof UnreadableBody)) throw error;
    throw unusable(arrived, {
      kind: error.kind === 'refused' ? 'wrongShape' : 'truncated',
      reason: error.message,
      error: error.cause,
      // The transfer was complete, so that the server itself sent a damaged body.
      whole: error.kind === 'broken' && isFramed(received),
      kept: kept(await decodedToKeep(received.body, encoding, maxBytes)),
    });
  }
}

/**
 * Whether a value is an answer of the service. The answer to a paid call needs a known field. The answer to a free call, such as
 * a deletion, may be empty and needs only the right shape.
 */
function isTheServices<I, O>({ response, paid }: Endpoint<I, O>, value: unknown): boolean {
  return hasKnownField(response, value) || (!paid && isShape(response, value));
}

/** Whether the status, a `Content-Length` or a `Transfer-Encoding` marks the end of the body. */
export function isFramed({ headers, status }: Exchange): boolean {
  return (
    status === 204 ||
    status === 205 ||
    header(headers, 'content-length') !== null ||
    header(headers, 'transfer-encoding') !== null
  );
}

/** Wraps the secrets of a value at any depth, so that they are never printed. */
function sealed(value: unknown, names: readonly string[] = []): unknown {
  if (names.length === 0 || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => sealed(item, names));
  const fields = Object.entries(value).map(([name, field]) => [
    name,
    names.includes(name) && typeof field === 'string' ? new Secret(field) : sealed(field, names),
  ]);
  return Object.fromEntries(fields);
}

const MOST_READ = 20 * MOST_WARNINGS;
const none: readonly ServiceWarning[] = [];

/** The fields that may have the code or the text of a warning. */
const codes = ['code', 'type', 'tag', 'name'];
const texts = ['message', 'text', 'detail', 'description', 'title', 'reason', 'warning'];
/** A code becomes a word of a command. */
const codeOf = (text: string): string => text.replace(/[^\w.:-]/g, '_').slice(0, MOST_CODE);
const MOST_CODE = 64;

/**
 * Returns the warnings and notices of an answer, each code and path once. A warning without a code has its text as the code, without the words
 * that have digits, because these may differ from answer to answer.
 */
export function readWarnings(answer: unknown, redact: Redact): readonly ServiceWarning[] {
  const [warnings, notices] = [fieldOf(answer, 'warnings'), fieldOf(answer, 'notices')];
  if (!warnings && !notices) return none;
  const line = (value: unknown, most: number): string =>
    typeof value === 'string' || typeof value === 'number'
      ? oneLine(redact(`${value}`).replace(/\p{Cs}/gu, '\ufffd'), most)
      : '';
  const first = (one: unknown, names: readonly string[], most: number) =>
    names.map((name) => line(fieldOf(one, name), most)).find((text) => text !== '') ?? '';
  const read = (list: unknown, kind: ServiceWarning['kind']): readonly ServiceWarning[] =>
    (Array.isArray(list) ? list.slice(0, MOST_READ) : [list]).flatMap((one: unknown) => {
      const isObject = typeof one === 'object' && Object.values(one ?? {}).some((value) => /\S/.test(textOf(value)));
      const given = codeOf(first(one, codes, MOST_CODE));
      const said = isObject ? first(one, texts, 300) : typeof one === 'string' ? line(one, 300) : '';
      const message = said || given || !isObject ? said : line(JSON.stringify(one), 300);
      const code = given || ownCode(message);
      return code === '' ? [] : [{ kind, code, path: first(one, ['path', 'field', 'pointer'], 200), message }];
    });
  return addWarnings(addWarnings(none, read(warnings, 'warning')), read(notices, 'notice'));
}

function ownCode(message: string): string {
  const words = message.split(' ').filter((word) => !/\d/.test(word));
  const code = codeOf(words.map((word) => word.replace(/[^\w.:-]|^\W+|\W+$/g, '')).join('_')).replace(/_+$/, '');
  return code || message === '' ? code : `TEXT_${createHash('sha256').update(message).digest('hex').slice(0, 8)}`;
}
