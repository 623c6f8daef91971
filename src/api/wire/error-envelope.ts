import type { Json } from '../../core/text/json.js';
import { textOf } from '../checks/field-of.js';
import { nestsDeeper } from '../checks/nesting.js';
import { oneLine, type Redact } from '../checks/redact.js';

/** The content of an error answer, in either envelope. */
export interface ErrorEnvelope {
  readonly message: string | null;
  /** `tag` of the standard envelope, `error.code` of the agent envelope. */
  readonly tag: string | null;
  readonly requestId: string | null;
  /**
   * `own`: the service's form, with a `tag`, or with an object `error` that has a name of the API reference, or any name beside a request id.
   * `bare`: forms that other servers use, too: only a text `error`, or an object `error` with another name in capitals. `page`: HTML.
   * `none`: nothing.
   */
  readonly form: 'own' | 'bare' | 'page' | 'none' | 'other';
  /** The 402 challenge to a request without a key; the challenge says how to pay. */
  readonly challenge: Json;
}

const MAX_MESSAGE = 300;
const MAX_NAME = 200;

type Fields = Readonly<Record<string, Json>>;

function isFields(value: Json | undefined): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function short(value: Json | undefined, max: number): string | null {
  return typeof value === 'string' ? oneLine(value, max) || null : null;
}

/** The form of the service's names of errors. A gateway has names of this form, too, other ones, numbers or none. */
const anyName = /^[A-Z][A-Z\d_]+$/;
/** Names of the API reference that a refusal (401, 403) or a missing record may have in an object `error`. */
const ownName =
  /^(AUTHENTICATION_ERROR|INVALID_(API_KEY|REQUEST|DATA_SOURCE)|(TEAM|MONITOR|RUN|PREVIOUS_RUN)_NOT_FOUND|FEATURE_DISABLED|PROHIBITED_CONTENT|CONTENT_FILTER_ERROR|INSUFFICIENT_SCOPE|TEAM_BLOCKED|ROBOTS_FILTER_FAILED)$/;

const challengeFields = ['x402Version', 'resource', 'accepts', 'extensions'] as const;

function readChallenge(body: Fields, redact: Redact): Json {
  const found = challengeFields.flatMap((name) => (body[name] === undefined ? [] : [[name, body[name]]]));
  if (found.length === 0) return null;
  return parse(redact(JSON.stringify(Object.fromEntries(found))), redact) ?? null;
}

/** Returns the value of a JSON text with redacted texts: in the JSON, an escaped character could hide a key. */
function parse(text: string, redact: Redact): Json | undefined {
  if (nestsDeeper(text)) return undefined;
  try {
    return JSON.parse(text, (_, value) => (typeof value === 'string' ? redact(value) : value));
  } catch {
    return undefined;
  }
}

/**
 * Reads the body of an error answer. On any route `error` is either a text, with `tag` as a second field, or an object with `message` and
 * `code`. A gateway may answer without JSON. Never throws.
 */
export function readErrorEnvelope(text: string, redact: Redact): ErrorEnvelope {
  const body = parse(text, redact);
  if (!isFields(body)) {
    // HTML tags are dropped; the text between the tags is kept.
    const words = redact(text)
      .slice(0, 100_000)
      .replace(/<(script|style)\b[\s\S]*?(<\/\1>|$)|<[^<>]*>/gi, ' ');
    const form = /^\s*</.test(text) ? 'page' : text.trim() === '' ? 'none' : 'other';
    return { message: oneLine(words, MAX_MESSAGE) || null, tag: null, requestId: null, form, challenge: null };
  }
  const { error } = body;
  const inner: Fields = isFields(error) ? error : body;
  const first = (max: number, ...values: readonly (Json | undefined)[]) =>
    values.map((value) => short(value, max)).find((value) => value !== null) ?? null;
  const type = anyName.test(textOf(inner.type)) ? inner.type : null;
  const tag = first(MAX_NAME, body.tag, inner.tag, inner.code, body.code, type);
  const requestId = first(MAX_NAME, body.requestId, body.request_id, inner.requestId, inner.request_id);
  const names = isFields(error) ? [error.tag, error.type, error.code].map(textOf) : [];
  const isNamed = names.some((name) => anyName.test(name));
  const isOwn =
    short(body.tag, MAX_NAME) !== null || (isNamed && requestId !== null) || names.some((name) => ownName.test(name));
  const isBare =
    isNamed ||
    (typeof error === 'string' && Object.keys(body).every((name) => name === 'error' || name === 'requestId'));
  return {
    message: first(MAX_MESSAGE, error, inner.message, inner.error, body.message),
    tag,
    requestId,
    form: isOwn ? 'own' : isBare ? 'bare' : 'other',
    challenge: readChallenge(body, redact),
  };
}
