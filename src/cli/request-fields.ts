import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { JsonObject } from '../core/base-schemas.js';
import { whyTooLarge } from '../core/check-value.js';
import { efforts } from '../core/request-values.js';
import type { Json } from '../core/text/json.js';
import { misspelt } from '../core/text/nearest.js';
import { type Reader, readAll, refuse, value, wrong } from './flag-values.js';

/** A field of a request, and the flag or argument that sets it; undefined: none does. */
export type SetField = readonly [name: string, value: Json | undefined, flag: string];

export const ofRequest = (request: JsonObject | null = null): readonly SetField[] =>
  Object.entries(request ?? {}).map(([name, value]) => [name, value, '--request']);

export const objectOf = (fields: readonly SetField[]): JsonObject =>
  Object.fromEntries(fields.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));

export function setTwice(fields: readonly SetField[]): readonly string[] {
  const setters = new Map<string, string>();
  return fields.flatMap(([name, value, flag]) => {
    if (value === undefined) return [];
    const first = setters.get(name);
    setters.set(name, flag);
    return first === undefined ? [] : [`${first} and ${flag} both set ${name}. Pass one of them.`];
  });
}

export const jsonObject: Reader<string, JsonObject> = (path, { flag, cwd }) =>
  path.trimStart().startsWith('{')
    ? objectIn(flag, 'the inline text', () => path)
    : objectIn(flag, path, () => readFileSync(resolve(cwd, path), 'utf8'));

/** Reads a JSON object. `flag`: the flag or argument that names it. `shown`: its file, for messages. */
export function objectIn(flag: string, shown: string, read: () => string): JsonObject {
  let value: Json = null;
  try {
    value = JSON.parse(read()) as Json;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') wrong(`${flag}: file ${shown} not found.`);
    wrong(`${flag}: ${shown} ${code === undefined ? `is not JSON: ${message}` : `cannot be read (${code})`}.`);
  }
  const large = whyTooLarge(value);
  if (large !== null) wrong(`${flag}: ${shown} ${large}.`);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject;
  return wrong(`${flag}: ${shown} must contain a JSON object.`);
}

/** Returns the effort of `--effort`, unless it is misspelt. Other efforts may be new ones of the service. */
export function readEffort(effort: string | undefined, unchecked: boolean | undefined): string | undefined {
  if (effort === undefined || unchecked || (efforts as readonly string[]).includes(effort)) return effort;
  const meant = misspelt(effort, efforts);
  if (meant !== null)
    wrong(`--effort: '${effort}' is unknown; did you mean ${meant}? To send it unchanged, pass --unchecked.`);
  return effort;
}

const cacheHours: Reader<string, number> = (text, { flag }) =>
  /^(-1|\d{1,9})$/.test(text)
    ? Number(text)
    : wrong(`${flag}: '${text}' must be a whole number of hours from -1 (cache only) on.`);

/** The contract requires an object; the live service also accepts `true`. */
const asked: Reader<true | string, JsonObject> = (question): JsonObject =>
  question === true ? {} : { query: question };

export const contentsFlags = {
  '--text': 'page text (the default of --op contents)',
  '--highlights': value(asked, 'snippets of each page'),
  '--summary [question]': value(asked, 'summary of each page; with a question, a summary that answers the question'),
  '--max-age-hours <n>': value(
    cacheHours,
    "maximum age of the service's cached pages; 0: always fetch, -1: never fetch",
  ),
};

export const fields: Reader<readonly string[], readonly SetField[]> = (typed) => {
  const read = typed.map((text) => readAll({ field: () => readOption(text) }));
  refuse(...read.flatMap(({ mistakes }) => mistakes));
  return read.map(({ field }) => field);
};

function readOption(given: string): SetField {
  const [, name = '', text = ''] = /^([A-Za-z][A-Za-z0-9_]*)=(.*)$/s.exec(given) ?? [];
  if (name === '') wrong(`--option: '${given}' must be name=json, such as subpages=2 or 'text={"maxCharacters":500}'.`);
  try {
    return [name, JSON.parse(text) as Json, `--option ${name}`];
  } catch (error) {
    // A shell removes the quotes of a string. So a bare word, as in livecrawl=never, counts as a string.
    if (/^[\w .:/+-]+$/.test(text) && !/^[-+.\d]/.test(text)) return [name, text, `--option ${name}`];
    return wrong(`--option ${name}: not JSON (${(error as Error).message}).`);
  }
}

export const pairs: Reader<readonly string[], Readonly<Record<string, string>>> = (typed, { flag }) => {
  const found = typed.map((text) => [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)] as const);
  const keys = found.map(([key]) => key);
  refuse(
    ...typed.filter((text) => text.indexOf('=') < 1).map((text) => `${flag}: '${text}' must be key=value.`),
    // A monitor cannot match two values of one key.
    ...keys
      .filter((key, nth) => key !== '' && keys.indexOf(key) < nth)
      .map((key) => `${flag}: key '${key}' is given twice.`),
  );
  // `fromEntries` makes own fields even for names such as `__proto__`.
  return Object.fromEntries(found);
};
