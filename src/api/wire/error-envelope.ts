import type { Json } from '../../core/text/json.js';
import { nestsDeeper } from '../checks/nesting.js';
import { oneLine, type Redact } from '../checks/redact.js';

/** The content of an error answer, in either envelope. */
export interface ErrorEnvelope {
  readonly message: string | null;
  /** `tag` of the standard envelope, `error.code` of the agent envelope. */
  readonly tag: string | null;
  readonly requestId: string | null;
  /**
   * `own`: the service's form, with the name of the error in `tag`, or in `type` and `code` of an object `error`. `bare`: only a text `error`,
   * an older form of the service, which other servers use, too.
   */
  readonly form: 'own' | 'bare' | 'other';
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

/** The service's names of errors, such as `INVALID_API_KEY`. A gateway has other ones, numbers or none. */
const ownName = /^[A-Z][A-Z\d]*(_[A-Z\d]+)+$/;

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
    return { message: oneLine(words, MAX_MESSAGE) || null, tag: null, requestId: null, form: 'other', challenge: null };
  }
  const { error } = body;
  const inner: Fields = isFields(error) ? error : body;
  const tag = short(body.tag, MAX_NAME) ?? short(inner.tag, MAX_NAME) ?? short(inner.code, MAX_NAME);
  const requestId = short(body.requestId, MAX_NAME) ?? short(inner.requestId, MAX_NAME);
  const names = isFields(error) ? [error.tag, error.type, error.code] : [];
  const isOwn = short(body.tag, MAX_NAME) !== null || names.some((name) => ownName.test(String(name)));
  const isBare =
    typeof error === 'string' && Object.keys(body).every((name) => name === 'error' || name === 'requestId');
  return {
    message: short(error, MAX_MESSAGE) ?? short(inner.message, MAX_MESSAGE),
    tag,
    requestId,
    form: isOwn ? 'own' : isBare ? 'bare' : 'other',
    challenge: readChallenge(body, redact),
  };
}
