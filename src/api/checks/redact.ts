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
  const forms = [...new Set(values.flatMap(formsOf))].sort((one, other) => other.length - one.length);
  if (forms.length === 0) return (text) => text;
  const literal = (form: string): string => form.replace(/[^\w]/gu, '\\$&');
  const pattern = (form: string): string =>
    form.length < SHORTEST ? `(?<!\\w)${literal(form)}(?!\\w)` : literal(form);
  const longest = new RegExp(forms.map(pattern).join('|'), 'gi');
  return (text) => text.replace(longest, '[redacted]');
}

/** A value as a text may repeat it: as it is, in a URL, in JSON, and, if it is long, in hex and inside of a text in Base64. */
function formsOf(value: string): readonly string[] {
  const plain = [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)];
  if (value.length < LONG) return plain;
  const bytes = Buffer.from(value);
  const inBase64 = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    // Characters that also depend on the bytes before or after the value are left out.
    return text.slice(Math.ceil((before * 4) / 3), Math.floor(((before + bytes.length) * 4) / 3));
  });
  const inUrls = inBase64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'));
  return [...plain, bytes.toString('hex'), ...inBase64, ...inUrls];
}

/** Returns one line of at most `max` characters without control or direction characters, safe for a log and a terminal. */
export function oneLine(text: string, max: number): string {
  const line = text
    .slice(0, max * 8)
    .replace(/[\s\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ')
    .trim();
  return line.length > max ? `${line.slice(0, max - 1)}…` : line;
}
