import type { IncomingMessage } from 'node:http';
import { z } from 'zod';

/** A request that the service refuses, with the `status` and `tag` of its error body. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly tag: string;
  /** Fields beside those of the standard envelope. */
  readonly extra: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    tag: string,
    message: string,
    more: { extra?: Readonly<Record<string, unknown>>; headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message);
    this.status = status;
    this.tag = tag;
    this.extra = more.extra ?? {};
    this.headers = more.headers ?? {};
  }
}

/** The kinds of error body. Agent operations have a kind of their own; a gateway answers in plain text. */
export type Envelope = 'standard' | 'agent' | 'text';

export function envelopeOf(path: string): Envelope {
  return path === '/agent' || path.startsWith('/agent/') ? 'agent' : 'standard';
}

/** `type` and default `code` of the agent envelope, by status. */
function agentKind(status: number): readonly [type: string, code: string] {
  if (status === 401 || status === 403) return ['AUTHENTICATION_ERROR', 'TEAM_NOT_FOUND'];
  if (status === 404) return ['NOT_FOUND', 'RUN_NOT_FOUND'];
  if (status === 429) return ['RATE_LIMIT_ERROR', 'RATE_LIMIT_EXCEEDED'];
  return status >= 500 ? ['SERVER_ERROR', 'SERVER_ERROR'] : ['INVALID_REQUEST', 'INVALID_REQUEST'];
}

/** Body and content type of an error. `tag` null selects the usual tag of the status. */
export function errorBody(
  envelope: Envelope,
  requestId: string,
  error: { status: number; tag: string | null; message: string; extra?: Readonly<Record<string, unknown>> },
): { body: string; contentType: string } {
  const { status, tag, message, extra } = error;
  if (envelope === 'text') return { body: `${status} ${message}\n`, contentType: 'text/plain; charset=utf-8' };
  const contentType = 'application/json; charset=utf-8';
  if (envelope === 'standard') {
    return { body: JSON.stringify({ requestId, error: message, tag: tag ?? usualTag(status), ...extra }), contentType };
  }
  const [type, usual] = agentKind(status);
  const code = tag === null || /^INVALID_REQUEST_/.test(tag) ? usual : tag;
  return { body: JSON.stringify({ error: { type, code, message, ...extra } }), contentType };
}

function usualTag(status: number): string {
  const tags: Readonly<Record<number, string>> = {
    400: 'INVALID_REQUEST',
    401: 'INVALID_API_KEY',
    402: 'NO_MORE_CREDITS',
    403: 'FEATURE_DISABLED',
    404: 'NOT_FOUND',
    422: 'FETCH_DOCUMENT_ERROR',
    429: 'RATE_LIMIT_EXCEEDED',
    500: 'INTERNAL_ERROR',
    501: 'UNABLE_TO_GENERATE_RESPONSE',
    503: 'SERVICE_OVERLOADED',
  };
  return tags[status] ?? 'DEFAULT_ERROR';
}

/** Checks a body against a schema; the refusal names the first few wrong fields. */
export function checkInput<T>(schema: z.ZodType<T>, input: unknown): T {
  return check(schema, input, 'INVALID_REQUEST_BODY', 'Invalid request body');
}

/** Checks the query of a GET; `lists` names the parameters that may be repeated. */
export function checkQuery<T>(schema: z.ZodType<T>, query: URLSearchParams, lists: readonly string[] = []): T {
  const fields: Record<string, unknown> = {};
  for (const name of new Set(query.keys())) {
    const plain = name.replace(/\[\]$/, '');
    fields[plain] = lists.includes(plain) ? [...query.getAll(plain), ...query.getAll(`${plain}[]`)] : query.get(name);
  }
  return check(schema, fields, 'INVALID_REQUEST_QUERY', 'Invalid query');
}

function check<T>(schema: z.ZodType<T>, input: unknown, tag: string, what: string): T {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const reported = parsed.error.issues
    .slice(0, 5)
    .map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`);
  throw new Refusal(400, tag, `${what}: ${reported.join('; ')}`);
}

/** Maximum number of bytes of a request body. */
const BODY_LIMIT = 10 * 1024 * 1024;

const unreadable = (why: string, status = 400) =>
  new Refusal(status, 'INVALID_REQUEST_BODY', `Invalid request body: ${why}`);

/**
 * Reads a body as JSON; undefined if there is none. Refuses a body that is too large or malformed; rejects with the stream's
 * error if the client disconnects.
 */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > BODY_LIMIT) throw unreadable(`more than ${BODY_LIMIT} bytes`, 413);
    chunks.push(chunk);
  }
  if (size === 0) return undefined;
  const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    throw unreadable('not JSON');
  }
}

/** `limit` and `cursor` of a list; `limit` is a whole number from 1 to `most`. */
export function listQueryOf<T extends z.ZodRawShape>(most: number, usual: number, more: T) {
  return z.looseObject({ limit: limitSchema(most, usual), cursor: z.string().min(1).optional(), ...more });
}

function limitSchema(most: number, usual: number) {
  return z
    .string()
    .regex(/^\d+$/, 'not a whole number')
    .transform(Number)
    .pipe(z.number().min(1).max(most))
    .default(usual);
}

/** One page of a list, with the cursor of the next page. */
interface ListPage<T> {
  readonly data: readonly T[];
  readonly hasMore: boolean;
  readonly nextCursor: string | null;
}

/**
 * The first `limit` of `items`, which begin after the cursor of the request. `cursorOf` makes the next cursor from the last item of a page.
 */
export function pageOfList<T>(items: Iterable<T>, limit: number, cursorOf: (last: T) => string): ListPage<T> {
  const data: T[] = [];
  for (const item of items) {
    if (data.length === limit) return { data, hasMore: true, nextCursor: cursorOf(data[limit - 1] as T) };
    data.push(item);
  }
  return { data, hasMore: false, nextCursor: null };
}

/** An opaque cursor that encodes a number. */
export function toCursor(kind: string, value: number): string {
  return Buffer.from(`${kind}:${value}`).toString('base64url');
}

/** The number in a cursor; refuses the cursor of another list. */
export function fromCursor(kind: string, cursor: string): number {
  const [prefix, value] = Buffer.from(cursor, 'base64url').toString('utf8').split(':');
  if (prefix !== kind || value === undefined || !/^\d+$/.test(value)) throw badCursor();
  return Number(value);
}

export function badCursor(why = 'not a cursor of this list'): Refusal {
  return new Refusal(400, 'INVALID_REQUEST_QUERY', `Invalid query: cursor: ${why}`);
}
