import type { Secret } from '../../core/connections/secret.js';

/** Removes the API key from a text, such as a server error that repeats the key. */
export type Redact = (text: string) => string;

/** Shorter keys would match ordinary words. */
const SHORTEST = 4;

/** Shorter values of headers are words such as `production`. */
const SHORTEST_HEADER = 12;

/** `headers`: values of headers, which may be tokens. */
export function createRedact(key: Secret | null, headers: readonly string[] = []): Redact {
  const given = key?.reveal() ?? '';
  const values = [
    ...(given.length < SHORTEST ? [] : [given]),
    ...headers.filter((one) => one.length >= SHORTEST_HEADER),
  ];
  const forms = [...new Set(values.flatMap(formsOf))].sort((one, other) => other.length - one.length);
  if (forms.length === 0) return (text) => text;
  const longest = new RegExp(forms.map((form) => form.replace(/[^\w]/gu, '\\$&')).join('|'), 'gi');
  return (text) => text.replace(longest, '[redacted]');
}

/** A value as a text may repeat it: as it is, in a URL, in JSON, and, if it is long, in hex and inside of a text in Base64. */
function formsOf(value: string): readonly string[] {
  const plain = [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)];
  if (value.length < SHORTEST_HEADER) return plain;
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
