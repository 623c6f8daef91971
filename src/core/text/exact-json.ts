import type { Json } from './json.js';

/**
 * JSON whose numbers keep their digits. `JSON.parse` rounds numbers of more than 15 digits and drops the zeros of `12.500`, so numbers are
 * parsed as texts with a mark.
 */
export type ExactJson = null | boolean | string | readonly ExactJson[] | { readonly [name: string]: ExactJson };

const MARK = '\u0001';
const NUMBER = `${MARK}n`;
/** A text that begins with the mark in its JSON gets another mark before it. */
const TEXT = `${MARK}s`;
const token = /"\\u0001|-?\d[\d.eE+-]*/;

const wholeNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Parses JSON. Throws `SyntaxError` for a text that is not JSON. */
export function parseExactJson(text: string): ExactJson {
  if (!/\d|\\u0001/.test(text)) return JSON.parse(text) as ExactJson;
  // The marks would hide a wrong number.
  let isRight = true;
  const marked = replaceTokens(text, token, (found) => {
    if (found[0] === '"') return `"\\u0001s\\u0001`;
    isRight &&= wholeNumber.test(found);
    return `"\\u0001n${found}"`;
  });
  try {
    if (isRight) return JSON.parse(marked) as ExactJson;
  } catch {
    // The text itself gives the message.
  }
  JSON.parse(text);
  throw new SyntaxError('Unexpected number in JSON');
}

/** Replaces the matches of `pattern` in JSON, but not within texts. A text may be too long for one regular expression. */
export function replaceTokens(json: string, pattern: RegExp, replace: (found: string) => string): string {
  const tokens = new RegExp(`${pattern.source}|"`, 'g');
  const parts: string[] = [];
  let from = 0;
  for (let token = tokens.exec(json); token !== null; token = tokens.exec(json)) {
    const [found] = token;
    if (found !== '"') {
      parts.push(json.slice(from, token.index), replace(found));
      from = tokens.lastIndex;
    }
    if (found[0] === '"') tokens.lastIndex = endOfText(json, token.index);
  }
  return parts.length === 0 ? json : parts.join('') + json.slice(from);
}

/** Returns where a text ends in JSON: the index after its closing quote. `start`: the index of its opening quote. */
export function endOfText(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end !== -1; end = json.indexOf('"', end + 1)) {
    let escapes = end;
    while (json[escapes - 1] === '\\') escapes--;
    if ((end - escapes) % 2 === 0) return end + 1;
  }
  return json.length;
}

/** Numbers that `JSON.parse` may change; also finds their characters in texts. */
const changed = /\d[.eE]|\d{16}|-0/;

/** Returns the canonical text of a JSON text, see {@link canonicalExactJson}. Throws `SyntaxError` for a text that is not JSON. */
export function canonicalJsonText(text: string): string {
  // Plain numbers need no marks, which cost most of the time and memory.
  return changed.test(text) ? canonicalExactJson(parseExactJson(text)) : plainJson(JSON.parse(text) as Json);
}

function plainJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(plainJson).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const fields = value as { readonly [name: string]: Json };
  const names = Object.keys(fields).sort(byCodeUnit);
  return `{${names.map((name) => `${JSON.stringify(name)}:${plainJson(fields[name] as Json)}`).join(',')}}`;
}

const byCodeUnit = (a: string, b: string) => (a < b ? -1 : 1);

/** The digits of a number as they were written; null for another value. */
export function numberText(value: ExactJson): string | null {
  return typeof value === 'string' && value.startsWith(NUMBER) ? value.slice(NUMBER.length) : null;
}

/** A text or the name of a field as it was; not for numbers. */
export function plainText(value: string): string {
  return value.startsWith(TEXT) ? value.slice(TEXT.length) : value;
}

/**
 * Returns one JSON text for equal values: names sorted, no white space, and numbers without the zeros and signs that do not change them
 * (`12.500` is `12.5`, `1E+20` is `1e20`). No digit is lost.
 */
export function canonicalExactJson(value: ExactJson): string {
  if (typeof value === 'string') {
    const number = numberText(value);
    return number === null ? JSON.stringify(plainText(value)) : canonicalNumber(number);
  }
  if (Array.isArray(value)) return `[${value.map((item) => canonicalExactJson(item)).join(',')}]`;
  if (value === null || typeof value === 'boolean') return String(value);
  const fields = value as { readonly [name: string]: ExactJson };
  const named = Object.keys(fields).map((name) => [plainText(name), fields[name] as ExactJson] as const);
  named.sort(([a], [b]) => byCodeUnit(a, b));
  return `{${named.map(([name, item]) => `${JSON.stringify(name)}:${canonicalExactJson(item)}`).join(',')}}`;
}

function canonicalNumber(number: string): string {
  const [digits = '', exponent] = number.toLowerCase().split('e', 2);
  const short = digits.includes('.') ? digits.replace(/\.?0+$/, '') : digits;
  const power = exponent?.replace('+', '').replace(/^(-?)0+(?=\d)/, '$1') ?? '0';
  return power === '0' || power === '-0' ? short : `${short}e${power}`;
}
