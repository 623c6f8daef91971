import type { ContentsJobOptions } from '../../core/rows/job.js';
import type { Json } from '../../core/text/json.js';
import { setOnce } from './set-once.js';

/** Flags of page contents. */
export interface ContentsFlags {
  readonly text?: boolean;
  readonly highlights?: boolean;
  /** `true`, or the question that the summary answers. */
  readonly summary?: boolean | string;
  readonly maxAgeHours?: string;
  /** Options in the form `name=json`. */
  readonly option?: readonly string[];
}

/**
 * Returns the contents options that the flags describe; adds a sentence to `mistakes` for each invalid flag. Values are checked
 * against the contract later, before anything is sent.
 */
export function toContentsOptions(flags: ContentsFlags, mistakes: string[]): ContentsJobOptions {
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
