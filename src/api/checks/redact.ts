import type { Secret } from '../../core/text/secret.js';

/** Takes a key out of a text that somebody else wrote, such as a server that repeats the key in its error. */
export type Redact = (text: string) => string;

/** Shorter keys would tear ordinary words apart, and protect nothing. */
const SHORTEST = 4;

export function createRedact(key: Secret | null): Redact {
  const value = key?.reveal() ?? '';
  if (value.length < SHORTEST) return (text) => text;
  const forms = [...new Set([value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)])];
  return (text) => forms.reduce((rest, form) => rest.replaceAll(form, '[redacted]'), text);
}

/** One line of at most `max` characters without control or direction characters: fit for a log and a terminal. */
export function oneLine(text: string, max: number): string {
  const line = text
    .slice(0, max * 8)
    .replace(/[\s\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ')
    .trim();
  return line.length > max ? `${line.slice(0, max - 1)}…` : line;
}
