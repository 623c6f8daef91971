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
  const forms = [
    ...new Set(values.flatMap((value) => [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)])),
  ];
  return (text) => forms.reduce((rest, form) => rest.replaceAll(form, '[redacted]'), text);
}

/** Returns one line of at most `max` characters without control or direction characters, safe for a log and a terminal. */
export function oneLine(text: string, max: number): string {
  const line = text
    .slice(0, max * 8)
    .replace(/[\s\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ')
    .trim();
  return line.length > max ? `${line.slice(0, max - 1)}…` : line;
}
