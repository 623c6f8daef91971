import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { efforts } from '../core/agent-efforts.js';
import type { JsonObject } from '../core/base-schemas.js';
import { whyTooLarge } from '../core/check-value.js';
import type { Json } from '../core/text/json.js';
import { misspelt } from '../core/text/nearest.js';
import type { Flags } from './shared/command.js';

/** Records which flag or argument sets a field; adds a sentence to `mistakes` if another flag or argument has set that field. */
export function setOnce(setters: Map<string, string>, field: string, flag: string, mistakes: string[]): void {
  const first = setters.get(field);
  if (first === flag) mistakes.push(`${flag} sets ${field} twice. Pass it once.`);
  else if (first !== undefined) mistakes.push(`${first} and ${flag} both set ${field}. Pass one of them.`);
  setters.set(field, flag);
}

/** Returns the JSON object that a flag has, inline or in the file that it names. Without an object, returns null and adds a sentence to `mistakes`. */
export function readObject(
  flag: string,
  path: string,
  cwd: string,
  mistakes: string[],
): { readonly [name: string]: Json } | null {
  const isInline = path.trimStart().startsWith('{');
  const shown = isInline ? 'the inline text' : path;
  try {
    const value = JSON.parse(isInline ? path : readFileSync(resolve(cwd, path), 'utf8')) as Json;
    const large = whyTooLarge(value);
    if (large !== null) {
      mistakes.push(`${flag}: ${shown} ${large}.`);
      return null;
    }
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as { readonly [name: string]: Json };
    mistakes.push(`${flag}: ${shown} must contain a JSON object.`);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') mistakes.push(`${flag}: file ${path} not found.`);
    else
      mistakes.push(
        `${flag}: ${shown} ${code === undefined ? `is not JSON: ${message}` : `cannot be read (${code})`}.`,
      );
  }
  return null;
}

/** Adds a sentence to `mistakes` for a misspelt `--effort`. Other efforts may be new ones of the service. */
export function checkEffort(effort: string | undefined, unchecked: boolean | undefined, mistakes: string[]): void {
  if (effort === undefined || unchecked || (efforts as readonly string[]).includes(effort)) return;
  const meant = misspelt(effort, efforts);
  if (effort === '' || meant !== null)
    mistakes.push(
      `--effort: '${effort}' is unknown; did you mean ${meant ?? efforts[0]}? To send it unchanged, pass --unchecked.`,
    );
}

/**
 * Returns the contents options that the flags describe; adds a sentence to `mistakes` for each invalid flag. Values are checked
 * against the contract later, before anything is sent.
 */
export function toContentsOptions(
  flags: Pick<Flags<'enrich'>, 'text' | 'highlights' | 'summary' | 'maxAgeHours' | 'option'>,
  mistakes: string[],
): JsonObject {
  const options = new Map<string, Json>();
  const setters = new Map<string, string>();
  const put = (name: string, value: Json, flag: string) => {
    setOnce(setters, name, flag, mistakes);
    options.set(name, value);
  };
  if (flags.text) put('text', true, '--text');
  // The contract requires an object; the live service also accepts `true`.
  if (flags.highlights) put('highlights', {}, '--highlights');
  if (flags.summary) put('summary', typeof flags.summary === 'string' ? { query: flags.summary } : {}, '--summary');
  if (flags.maxAgeHours !== undefined) {
    if (/^(-1|\d{1,9})$/.test(flags.maxAgeHours)) put('maxAgeHours', Number(flags.maxAgeHours), '--max-age-hours');
    else
      mistakes.push(`--max-age-hours: '${flags.maxAgeHours}' must be a whole number of hours from -1 (cache only) on.`);
  }
  for (const given of flags.option ?? []) {
    const match = /^([A-Za-z][A-Za-z0-9_]*)=(.*)$/s.exec(given);
    if (!match)
      mistakes.push(`--option: '${given}' must be name=json, such as subpages=2 or 'text={"maxCharacters":500}'.`);
    else readOption(match[1] as string, match[2] as string);
  }
  return Object.fromEntries(options);

  function readOption(name: string, text: string): void {
    try {
      put(name, JSON.parse(text) as Json, `--option ${name}`);
    } catch (error) {
      // A shell removes the quotes of a string. So a bare word, as in livecrawl=never, counts as a string.
      if (/^[\w .:/+-]+$/.test(text) && !/^[-+.\d]/.test(text)) put(name, text, `--option ${name}`);
      else mistakes.push(`--option ${name}: not JSON (${(error as Error).message}).`);
    }
  }
}
