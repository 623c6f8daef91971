import { filterProblem, type MonitorFilter } from '../../core/monitors/monitor-filter.js';

/** Flags that select monitors. */
export interface FilterFlags {
  readonly name?: string;
  readonly status?: string;
  readonly metadata?: readonly string[];
  readonly unchecked?: boolean;
}

/** Returns the filter that the flags describe; adds a sentence to `mistakes` for each invalid flag. */
export function toFilter({ name, status, metadata = [] }: FilterFlags, mistakes: string[]): MonitorFilter {
  const pairs = new Map<string, string>();
  for (const text of metadata) {
    const at = text.indexOf('=');
    const [key, value] = [text.slice(0, at), text.slice(at + 1)];
    if (at < 1) mistakes.push(`--metadata: '${text}' must be key=value.`);
    // A monitor cannot match two values of one key.
    else if (pairs.has(key)) mistakes.push(`--metadata: key '${key}' is given twice.`);
    else pairs.set(key, value);
  }
  const filter = {
    name,
    status,
    // `fromEntries` makes own fields even for names such as `__proto__`.
    ...(metadata.length === 0 ? {} : { metadata: Object.fromEntries(pairs) }),
  };
  if (name !== undefined && (name === '' || name.length > 250)) mistakes.push('--name must have 1 to 250 characters.');
  else {
    const problem = filterProblem(filter, '--');
    if (problem !== null) mistakes.push(`${problem}.`);
  }
  return filter;
}

/** Returns the whole number of a flag; undefined without the flag. */
export function toCount(text: string | undefined, flag: string, most: number, mistakes: string[]): number | undefined {
  if (text === undefined) return undefined;
  const number = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (number < 1 || number > most) mistakes.push(`${flag}: '${text}' must be a whole number from 1 to ${most}.`);
  return number;
}
