import type { IncomingMessage } from 'node:http';
import { z } from 'zod';

/** The kinds of error body. Agent operations have a kind of their own; a gateway answers in plain text. */
export type Envelope = 'standard' | 'agent' | 'text';

interface Details {
  /** Default: the usual tag of the status. */
  readonly tag?: string | undefined;
  /** Fields beside those of the standard envelope. */
  readonly extra?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: the envelope of the path. */
  readonly envelope?: Envelope | undefined;
}

/** A request that the service refuses. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  constructor(
    readonly status: number,
    message: string,
    readonly details: Details = {},
  ) {
    super(message);
  }
}

/** A refusal of a body, or of a part of it. */
export function badBody(why: string, tag = 'INVALID_REQUEST_BODY', status = 400): Refusal {
  return new Refusal(status, `Invalid request body: ${why}`, { tag });
}

export function badQuery(why: string): Refusal {
  return new Refusal(400, `Invalid query: ${why}`, { tag: 'INVALID_REQUEST_QUERY' });
}

/** `type` and usual `code` of the agent envelope, by status. */
function agentKind(status: number): readonly [type: string, code: string] {
  if (status === 401 || status === 403) return ['AUTHENTICATION_ERROR', 'TEAM_NOT_FOUND'];
  if (status === 404) return ['NOT_FOUND', 'RUN_NOT_FOUND'];
  if (status === 429) return ['RATE_LIMIT_ERROR', 'RATE_LIMIT_EXCEEDED'];
  return status >= 500 ? ['SERVER_ERROR', 'SERVER_ERROR'] : ['INVALID_REQUEST', 'INVALID_REQUEST'];
}

const usualTags: Readonly<Record<number, string>> = {
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

export function errorBody({ status, message, details }: Refusal, path: string, requestId: string): unknown {
  const { tag, extra, envelope = /^\/agent(\/|$)/.test(path) ? 'agent' : 'standard' } = details;
  if (envelope === 'text') return `${status} ${message}\n`;
  if (envelope === 'standard') {
    return { requestId, error: message, tag: tag ?? usualTags[status] ?? 'DEFAULT_ERROR', ...extra };
  }
  const [type, usual] = agentKind(status);
  const code = tag === undefined || tag.startsWith('INVALID_REQUEST_') ? usual : tag;
  return { error: { type, code, message, ...extra } };
}

/** Query parameters that may be repeated. */
const repeated = ['types', 'expand'];

/** The parameters of a query; those that may be repeated are lists. */
export function fieldsOf(query: URLSearchParams): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [name, value] of query) {
    const plain = name.replace(/\[\]$/, '');
    if (repeated.includes(plain)) fields[plain] = [...((fields[plain] as string[]) ?? []), value];
    else fields[plain] ??= value;
  }
  return fields;
}

/** Checks a body or a query against its schema. `refuse` gets the first few wrong fields. */
export function check<T>(schema: z.ZodType<T>, input: unknown, refuse: (why: string) => Refusal): T {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const reported = parsed.error.issues.slice(0, 5);
  throw refuse(reported.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`).join('; '));
}

/** Maximum number of bytes of a request body. */
const BODY_LIMIT = 10 * 1024 * 1024;

/**
 * Reads a body as JSON; undefined if there is none. Refuses a body that is too large or malformed; rejects with the stream's
 * error if the client disconnects.
 */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > BODY_LIMIT) throw badBody(`more than ${BODY_LIMIT} bytes`, undefined, 413);
    chunks.push(chunk);
  }
  if (size === 0) return undefined;
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    throw badBody('not JSON');
  }
}

/** The part of a list that a request asks for. */
export interface ListQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** `limit` and `cursor` of a list; `limit` is a whole number from 1 to `most`. */
export function listQueryOf<T extends z.ZodRawShape>(most: number, usual: number, more: T) {
  const limit = z.string().regex(/^\d+$/, 'not a whole number').transform(Number);
  return z.looseObject({
    limit: limit.pipe(z.number().min(1).max(most)).default(usual),
    cursor: z.string().min(1).optional(),
    ...more,
  });
}

interface Named {
  readonly id: string;
}

/** The first `limit` items as a page. The next cursor is the id of its last item. */
export function pageOf<T extends Named>(items: readonly T[], limit: number, view: (item: T) => unknown) {
  const hasMore = items.length > limit;
  return { data: items.slice(0, limit).map(view), hasMore, nextCursor: hasMore ? (items[limit - 1] as T).id : null };
}

export function itemsAfter<T extends Named>(items: readonly T[], cursor: string | undefined): readonly T[] {
  const from = cursor === undefined ? 0 : items.findIndex(({ id }) => id === cursor) + 1;
  if (cursor !== undefined && from === 0) throw badCursor();
  return items.slice(from);
}

export function badCursor(why = 'not a cursor of this list'): Refusal {
  return badQuery(`cursor: ${why}`);
}
