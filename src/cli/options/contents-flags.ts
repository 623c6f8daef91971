import type { ContentsJobOptions } from '../../core/rows/job.js';
import type { Json } from '../../core/text/json.js';

/** Flags that say what to get of each page. */
export interface ContentsFlags {
  readonly text?: boolean;
  readonly highlights?: boolean;
  /** True, or the question the summary should answer. */
  readonly summary?: boolean | string;
  readonly maxAgeHours?: string;
  /** `name=json`, each. */
  readonly option?: readonly string[];
}

/**
 * The flags as contents options (interface section 4.2; `maxAgeHours` is public facts section 3.2). Adds a sentence to
 * `mistakes` for each that means nothing; whether the service takes the values is the wire's to check, before anything is sent.
 */
export function toContentsOptions(flags: ContentsFlags, mistakes: string[]): ContentsJobOptions {
  const options = new Map<string, Json>();
  const put = (name: string, value: Json, flag: string) => {
    if (options.has(name)) mistakes.push(`${flag} sets ${name}, which another flag sets too; give one.`);
    options.set(name, value);
  };
  if (flags.text) put('text', true, '--text');
  // An object and not `true`: the contract takes nothing else, and the live service takes both.
  if (flags.highlights) put('highlights', {}, '--highlights');
  if (flags.summary) put('summary', typeof flags.summary === 'string' ? { query: flags.summary } : {}, '--summary');
  if (flags.maxAgeHours !== undefined) {
    if (/^(-1|\d{1,3})$/.test(flags.maxAgeHours) && Number(flags.maxAgeHours) <= 720) {
      put('maxAgeHours', Number(flags.maxAgeHours), '--max-age-hours');
    } else
      mistakes.push(
        `--max-age-hours: '${flags.maxAgeHours}' is not a whole number of hours from -1 (cache only) to 720.`,
      );
  }
  for (const given of flags.option ?? []) {
    const match = /^([A-Za-z][A-Za-z0-9_]*)=(.*)$/s.exec(given);
    if (!match)
      mistakes.push(`--option: '${given}' is not name=json, such as subpages=2 or 'text={"maxCharacters":500}'.`);
    else readOption(match[1] as string, match[2] as string);
  }
  if (options.has('maxAgeHours') && options.has('livecrawl')) {
    mistakes.push('maxAgeHours and livecrawl say the same thing in two ways; give one.');
  }
  return Object.fromEntries(options);

  function readOption(name: string, text: string): void {
    try {
      put(name, JSON.parse(text) as Json, '--option');
    } catch (error) {
      // A bare word is what a shell leaves of a string: livecrawl=never.
      if (/^[\w .:/+-]+$/.test(text) && !/^[-+.\d]/.test(text)) put(name, text, '--option');
      else mistakes.push(`--option ${name}: not JSON (${(error as Error).message}).`);
    }
  }
}
