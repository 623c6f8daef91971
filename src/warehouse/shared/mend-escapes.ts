/**
 * Matches an escaped backslash, a whole surrogate pair, or half of a pair. Only half of a pair is captured; backslashes and whole pairs
 * stay unchanged.
 */
const SURROGATES = /\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\(u[dD][89a-fA-F][0-9a-fA-F]{2})/g;
/** Like `SURROGATES`; this expression also captures NUL. */
const NULS_TOO =
  /\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\(u0000|u[dD][89a-fA-F][0-9a-fA-F]{2})/g;

const mend = (json: string, escapes: RegExp) =>
  json.replace(escapes, (match, name: string | undefined) => (name === undefined ? match : `\\\\${name}`));

/**
 * Repairs half surrogate pairs. JSON may have half of a pair as an escape (`\ud800`). Half of a pair is not a character, so no database can
 * hold it as text. The escape is replaced by its six characters as plain text, so that the escape stays visible.
 */
export const mendSurrogates = (json: string): string => mend(json, SURROGATES);

/** Like `mendSurrogates`, and also replaces NUL (`\u0000`), which PostgreSQL's text cannot hold. */
export const mendForPostgres = (json: string): string => mend(json, NULS_TOO);

/** The bytes of a JSON text, repaired. If there is nothing to change, which is usual, the same bytes are returned. */
export function mendBytes(bytes: Buffer, mending: (json: string) => string): Buffer {
  if (!['\\ud', '\\uD', '\\u0000'].some((start) => bytes.includes(start))) return bytes;
  const text = bytes.toString();
  const mended = mending(text);
  return mended === text ? bytes : Buffer.from(mended);
}

/** The bytes of a JSON text on one line; JSON has line feeds and carriage returns only between its tokens. */
export function inOneLine(json: Uint8Array): Buffer {
  const bytes = Buffer.from(json.buffer, json.byteOffset, json.byteLength);
  return bytes.includes('\n') || bytes.includes('\r') ? Buffer.from(bytes.toString().replace(/[\n\r]/g, ' ')) : bytes;
}

const visible = (text: string, chars: RegExp) =>
  text.replace(chars, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** A text with halves of surrogate pairs as visible characters, such as `\ud83d`. */
export const withoutHalves = (text: string): string => visible(text, /\p{Cs}/gu);

/** Like `withoutHalves`, also for NUL. */
export const withoutNul = (text: string): string => visible(text, /\0|\p{Cs}/gu);
