import type { Json } from '../../core/text/json.js';
import { nestsDeeper } from '../checks/nesting.js';
import { oneLine, type Redact } from '../checks/redact.js';

/** The content of an error answer, in either envelope. */
export interface ErrorEnvelope {
  readonly message: string | null;
  /** `tag` of the standard envelope, `error.code` of the agent envelope. */
  readonly tag: string | null;
  readonly requestId: string | null;
  /** Whether the body is empty or has the form of the service's errors. */
  readonly isOwn: boolean;
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

const challengeFields = ['x402Version', 'resource', 'accepts', 'extensions'] as const;

function readChallenge(body: Fields): Json {
  const found = challengeFields.filter((name) => body[name] !== undefined);
  return found.length === 0 ? null : Object.fromEntries(found.map((name) => [name, body[name] ?? null]));
}

function parse(text: string): Json | undefined {
  if (nestsDeeper(text)) return undefined;
  try {
    const value: Json = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}

/**
 * Reads the body of an error answer. On any route `error` is either a text, with `tag` as a second field, or an object with `message` and
 * `code`. A gateway may answer without JSON. Never throws.
 */
export function readErrorEnvelope(text: string, redact: Redact): ErrorEnvelope {
  const value = parse(text);
  // The value is serialized again: in the original text, an escaped character could hide a key from `redact`.
  const body = value === undefined ? undefined : parse(redact(JSON.stringify(value)));
  if (!isFields(body)) {
    // HTML tags are dropped; the text between the tags is kept.
    const words = redact(text)
      .slice(0, 100_000)
      .replace(/<(script|style)\b[\s\S]*?(<\/\1>|$)|<[^<>]*>/gi, ' ');
    return {
      message: oneLine(words, MAX_MESSAGE) || null,
      tag: null,
      requestId: null,
      isOwn: text.trim() === '',
      challenge: null,
    };
  }
  const { error } = body;
  const inner: Fields = isFields(error) ? error : body;
  const tag = short(body.tag, MAX_NAME) ?? short(inner.tag, MAX_NAME) ?? short(inner.code, MAX_NAME);
  const requestId = short(body.requestId, MAX_NAME) ?? short(inner.requestId, MAX_NAME);
  return {
    message: short(error, MAX_MESSAGE) ?? short(inner.message, MAX_MESSAGE),
    tag,
    requestId,
    isOwn: (error ?? null) !== null || body.tag !== undefined || body.requestId !== undefined,
    challenge: readChallenge(body),
  };
}
