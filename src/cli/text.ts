import { stripVTControlCharacters } from 'node:util';
import { dollars } from '../core/text/money.js';
import { shellWord, toDo as toDoOf } from '../core/text/shell-word.js';

export { count, sentence, some } from '../core/text/count.js';
export { DAY_MS } from '../core/text/duration.js';
export { dollars };

/** Returns seconds as text, such as `4 s`, `3 min 20 s`, `2 h 5 min` or `3 d 4 h`. */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return 'an unknown time';
  if (seconds < 10) return `${Math.max(0, Math.round(seconds * 10) / 10)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const units = [
    [86_400, 'd', 3600, 'h'],
    [3600, 'h', 60, 'min'],
    [60, 'min', 1, 's'],
  ] as const;
  for (const [size, name, smaller, smallerName] of units) {
    if (whole < size) continue;
    const rest = Math.floor((whole % size) / smaller);
    return rest === 0
      ? `${Math.floor(whole / size)} ${name}`
      : `${Math.floor(whole / size)} ${name} ${rest} ${smallerName}`;
  }
  return `${whole} s`;
}

/** Returns a time in Unix ms in ISO 8601; null stays null. */
export const isoTime = <At extends number | null>(at: At) =>
  (at === null ? null : new Date(at).toISOString()) as At extends number ? string : null;

/** Lines of a text. A part that is no text is left out; an empty text is an empty line. */
type Part = string | readonly Part[] | false | null | undefined;

export const lines = (...parts: readonly Part[]): string => flat(parts).join('\n');

const flat = (parts: readonly Part[]): string[] =>
  parts.flatMap((part) => (typeof part === 'string' ? [part] : part ? flat(part) : []));

/** A name and its text; null: there is nothing to say. */
export type Fact = readonly [name: string, text: string | null];

/** Returns a line for each fact, such as `Rows:   5`. `width`: the width of the names. */
export const factLines = (width: number, facts: readonly Fact[]): string[] =>
  facts.flatMap(([name, text]) => (text === null ? [] : [`${`${name}:`.padEnd(width)}${text}`]));

/** Returns the lines of a plain text table. The first column is aligned to the left, the others to the right. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length);
  }
  return rows.map((row) =>
    row
      .map((cell, index) => (index === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[index] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

/**
 * Makes text from elsewhere (page titles, server messages, file names, cells) safe for a terminal: one line, without escape
 * sequences, control characters, or invisible marks that reverse the direction of text.
 */
export function printable(text: string, most = 500): string {
  const flat = stripVTControlCharacters(text)
    .replace(/[\r\n\t\u2028\u2029]+/g, ' ')
    // Cc: control characters; Cf: direction marks, zero widths and tags; Cs: lone surrogates.
    .replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, '');
  return flat.length > most ? `${flat.slice(0, most - 1)}…` : flat;
}

/** Returns up to 100 lines. Each line is made printable and keeps its indentation. */
export function printableLines(text: string, mostInLine?: number): string {
  return text
    .split('\n')
    .slice(0, 100)
    .map((line) => printable(line, mostInLine))
    .join('\n');
}

/** Returns a next step whose command line can be copied: `To resume it:\n  searchflow resume companies`. */
export const toDo = (text: string, ...words: readonly string[]): string =>
  toDoOf(text, ...words.map((word) => printable(word)));

type Env = Readonly<Record<string, string | undefined>>;

/** Returns the words that a person types before a command. In a clone, npm runs the commands. */
export function programOf({ npm_lifecycle_event: script }: Env): string {
  if (script === 'npx') return 'npx searchflow';
  return script === 'start' || script === 'searchflow' ? 'npm run -s searchflow --' : 'searchflow';
}

/**
 * Returns the typed command line, which resumes the same work: with the npm script if the user used the script, and quoted
 * for a POSIX shell. `args`: the arguments after the command's name. User and password of a database are left out; a second
 * line says so.
 */
export function resumeCommand(args: readonly string[], env: Env): string {
  const shown = args.map(withoutCredentials);
  const words = shown.map(shellWord);
  const note = shown.every((word, index) => word === args[index])
    ? ''
    : '\nUser and password are left out. Add them, or set SEARCHFLOW_WAREHOUSE_URL, SEARCHFLOW_SOURCE_URL, PGUSER and PGPASSWORD, or .pgpass.';
  if (env.npm_lifecycle_event === 'start' && args[0] === 'start') {
    return words.length > 1 ? `npm start -- ${words.slice(1).join(' ')}` : 'npm start';
  }
  return `${[programOf(env), ...words].join(' ')}${note}`;
}

function withoutCredentials(word: string): string {
  const [, flag = '', url = ''] = /^(--[\w-]+=)?(postgres(?:ql)?:\/\/.*)$/is.exec(word) ?? [];
  if (!URL.canParse(url)) return word;
  const address = new URL(url);
  const { username, password, searchParams } = address;
  const secret = ['user', 'password', 'sslpassword'].filter((name) => searchParams.has(name));
  if (username === '' && password === '' && secret.length === 0) return word;
  address.username = '';
  address.password = '';
  for (const name of secret) searchParams.delete(name);
  return `${flag}${address.href}`;
}
