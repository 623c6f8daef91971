import type { Secret } from '../../core/connections/secret.js';

/** Removes the API key from a text, such as a server error that repeats the key. */
export type Redact = (text: string) => string;

/** Shorter keys would match ordinary words. */
const SHORTEST = 4;

/** A value of at least this length is also found in other encodings; a shorter one would match ordinary texts there. */
const LONG = 12;

/** `headers`: values of headers, which may be tokens. One of a few characters is found only as a word of its own. */
export function createRedact(key: Secret | null, headers: readonly string[] = []): Redact {
  const given = key?.reveal() ?? '';
  const values = [...(given.length < SHORTEST ? [] : [given]), ...headers.map((one) => one.trim()).filter(Boolean)];
  if (values.length === 0) return (text) => text;
  const longestFirst = values.sort((one, other) => other.length - one.length);
  const forms = new RegExp(longestFirst.flatMap((value) => [spelling(value), ...encodings(value)]).join('|'), 'gi');
  return (text) => text.replace(forms, '[redacted]');
}

/** Returns a function that removes a long key from the bytes of an answer. Bytes without the key are returned as they are, without a copy. */
export function createRedactBytes(key: Secret | null): (body: Buffer) => Buffer {
  const value = key?.reveal() ?? '';
  const forms = value.length < LONG ? [] : [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)];
  const redact = createRedact(key);
  return (body) =>
    forms.some((form) => body.includes(form)) ? Buffer.from(redact(body.toString('latin1')), 'latin1') : body;
}

/** A pattern of a value whose characters stand as they are or are escaped as in a URL, in JSON or in HTML, each on its own. */
function spelling(value: string): string {
  const characters = Array.from(value, (one) => {
    const code = one.codePointAt(0) as number;
    const inUrl = Array.from(Buffer.from(one), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
    const inJson = one.replace(/./gs, (unit) => `\\\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
    return `(?:\\\\?${one.replace(/[^\w]/gu, '\\$&')}|${inUrl}|${inJson}|&#(?:0*${code}|x0*${code.toString(16)});)`;
  });
  const pattern = characters.join('');
  return value.length < SHORTEST ? `(?<!\\w)${pattern}(?!\\w)` : pattern;
}

/** Forms of a long value in hex and inside of a text in Base64. */
function encodings(value: string): readonly string[] {
  if (value.length < LONG) return [];
  const bytes = Buffer.from(value);
  const inBase64 = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    // Characters that also depend on the bytes before or after the value are left out.
    return text.slice(Math.ceil((before * 4) / 3), Math.floor(((before + bytes.length) * 4) / 3));
  });
  const inUrls = inBase64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'));
  return [bytes.toString('hex'), ...[...inBase64, ...inUrls].map((text) => text.replace(/[^\w]/g, '\\$&'))];
}

/** Returns one line of at most `max` characters without control or direction characters, safe for a log and a terminal. */
export function oneLine(text: string, max: number): string {
  const line = text
    .slice(0, max * 8)
    .replace(/[\s\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ')
    .trim();
  return line.length > max ? `${line.slice(0, max - 1)}…` : line;
}
