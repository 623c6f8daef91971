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
