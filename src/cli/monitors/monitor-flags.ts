import { filterProblem, type MonitorFilter } from '../../core/monitors/monitor-filter.js';

/** Flags that say which monitors are meant. */
export interface FilterFlags {
  readonly name?: string;
  readonly status?: string;
  readonly metadata?: readonly string[];
}

/** The filter of the flags; what is wrong with them goes to `mistakes`. */
export function toFilter({ name, status, metadata = [] }: FilterFlags, mistakes: string[]): MonitorFilter {
  const pairs = new Map<string, string>();
  for (const text of metadata) {
    const at = text.indexOf('=');
    const [key, value] = [text.slice(0, at), text.slice(at + 1)];
    if (at < 1) mistakes.push(`--metadata: '${text}' is not key=value.`);
    // No monitor has both.
    else if (pairs.has(key)) mistakes.push(`--metadata: '${key}' is given twice.`);
    else pairs.set(key, value);
  }
  const filter = {
    ...(name === undefined ? {} : { name }),
    ...(status === undefined ? {} : { status }),
    // Every name becomes a field of its own, also one that objects give a meaning to.
    ...(metadata.length === 0 ? {} : { metadata: Object.fromEntries(pairs) }),
  };
  if (name !== undefined && (name === '' || name.length > 250))
    mistakes.push('--name: 1 to 250 characters are needed.');
  else {
    const problem = filterProblem(filter, '--');
    if (problem !== null) mistakes.push(`${problem}.`);
  }
  return filter;
}

/** A whole number of a flag, or undefined where it is not given. */
export function toCount(text: string | undefined, flag: string, most: number, mistakes: string[]): number | undefined {
  if (text === undefined) return undefined;
  const number = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (number < 1 || number > most) mistakes.push(`${flag}: '${text}' is not a whole number from 1 to ${most}.`);
  return number;
}
