import { UsageError } from '../core/errors/coded-error.js';
import type { FailureLimit, MaxCost, WarehouseSummary } from '../core/row-job-schemas.js';
import { isCsvDelimiter } from '../core/rows/row-warehouse.js';
import { parseDuration } from '../core/text/duration.js';
import { parseDollars, toDollars } from '../core/text/money.js';
import { DAY_MS, printable } from './text.js';

export interface About {
  readonly flag: string;
  readonly cwd: string;
  /** Unix ms. */
  readonly now: number;
}

/** Returns the value of a flag. Throws a `UsageError` for a mistake. */
export type Reader<Typed, Value> = (typed: Typed, about: About) => Value;

/** What a flag or an argument is: its help, or its help with what else the command line knows about its value. */
type Spec =
  | string
  | {
      readonly help: string;
      /** The flag may be repeated; its values are collected. */
      readonly many?: true;
      readonly choices?: readonly string[];
      readonly default?: string;
      /** The command needs the flag. */
      readonly mandatory?: true;
      /** Absent: the value is read as `readers` says. */
      readonly read?: Reader<never, unknown>;
    };

/** A flag whose value is read in another way than that of its name. */
export const value = <Read extends Reader<never, unknown>>(read: Read, help: string) => ({ help, read });

/** The flags or arguments of a command, by names and placeholders as the help shows them, in its order. */
export type Specs = Readonly<Record<string, Spec>>;

/** Throws a `UsageError` for a mistake of a command line. */
export function wrong(mistake: string): never {
  throw new UsageError('invalid-argument', mistake);
}

/** Throws a `UsageError` with these mistakes of a command line, a line each, if there are any. */
export function refuse(...mistakes: readonly (string | false | null | undefined)[]): void {
  const all = mistakes.filter(Boolean);
  if (all.length > 0) wrong(all.join('\n'));
}

/**
 * Reads several flags with functions that throw a `UsageError` for a mistake. Returns their values and all `mistakes`; a value is null if its
 * function threw.
 */
export function readAll<R extends Readonly<Record<string, () => unknown>>>(readers: R) {
  const mistakes: string[] = [];
  const values = Object.entries(readers).map(([name, read]) => {
    try {
      return [name, read()];
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      mistakes.push(error.message);
      return [name, null];
    }
  });
  return { ...(Object.fromEntries(values) as { readonly [Name in keyof R]: ReturnType<R[Name]> }), mistakes };
}

/** A flag as it is typed: `--max-cost` for `maxCost`. */
export const spelled = (name: string) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/**
 * Returns the start of a UTC day in Unix ms; null for other texts. Formats: a date (`2026-11-21`), or an age (`7d`, `2w`). An
 * age means a whole day, so that a command that is repeated a minute later has the same range.
 */
function parseDay(text: string, now: number): number | null {
  const ago = /^\d+[dw]$/.test(text) ? parseDuration(text) : null;
  if (ago !== null) return Math.floor((now - ago) / DAY_MS) * DAY_MS;
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return null;
  const at = Date.parse(`${text}T00:00:00Z`);
  // Date.parse accepts February 31 as a day in March.
  return Number.isFinite(at) && new Date(at).toISOString().startsWith(text) ? at : null;
}

export const day: Reader<string, number> = (text, { flag, now }) =>
  parseDay(text, now) ??
  wrong(`${flag}: '${text}' must be a UTC date (2026-11-21) or an age in days or weeks (7d, 2w).`);

export const lastDay: Reader<string, number> = (text, about) => day(text, about) + DAY_MS;

/**
 * Reads a time: a UTC day (`2026-01-31`), an age in days (`7d`), or a time with its zone (`2026-01-31T18:00Z`,
 * `2026-01-31T18:00+01:00`).
 */
export const moment: Reader<string, number> = (text, { flag, now }) => {
  const start = parseDay(text, now);
  if (start !== null) return start;
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) wrong(`${flag}: '${text}' is not a date of the calendar.`);
  const [, date = '', time = '', zone = ''] =
    /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(.*)$/.exec(text) ?? [];
  if (date === '')
    wrong(`${flag}: '${text}' must be a UTC date (2026-01-31), a time (2026-01-31T18:00Z) or an age (7d).`);
  if (zone === '')
    wrong(
      `${flag}: '${text}' has no time zone; write ${date}T${time}Z for UTC, or an offset such as ${date}T${time}+01:00.`,
    );
  if (!/^(Z|[+-]\d{2}:?\d{2})$/i.test(zone))
    wrong(`${flag}: '${zone}' is not a valid time zone; use Z for UTC, or an offset such as +01:00.`);
  const at = Date.parse(`${date}T${time}${zone.replace(/^([+-]\d{2})(\d{2})$/, '$1:$2').toUpperCase()}`);
  // Date.parse accepts February 31 as a day in March.
  if (!Number.isFinite(at) || parseDay(date, now) === null) wrong(`${flag}: '${text}' is not a time of the calendar.`);
  return at;
};

/** Like `moment`, for the end of a range: a day is inclusive. */
export const lastMoment: Reader<string, number> = (text, about) =>
  parseDay(text, about.now) === null ? moment(text, about) : lastDay(text, about);

/** The mistake of a range of days, in Unix ms, whose end is before its start. */
export function mustNotBeAfter(since: number, until: number): string {
  const dayText = (at: number) => new Date(at).toISOString().slice(0, 10);
  return `--since ${dayText(since)} must not be after --until ${dayText(until - 1)}.`;
}

export const wholeNumber =
  (most: number, least = 1): Reader<string, number> =>
  (text, { flag }) => {
    const number = /^\d{1,9}$/.test(text.trim()) ? Number(text) : -1;
    if (number < least || number > most) wrong(`${flag}: '${text}' must be a whole number from ${least} to ${most}.`);
    return number;
  };

export const amount: Reader<string, number> = (text, { flag }) => toAmount(flag, text, '');

export const cap: Reader<string, MaxCost> = (text, { flag }) =>
  text === 'none' ? text : toAmount(flag, text, ', or none');

function toAmount(flag: string, text: string, or: string): number {
  const micros = parseDollars(text);
  return micros === null
    ? wrong(`${flag}: '${text}' must be an amount in dollars such as 5 or 0.50${or}.`)
    : toDollars(micros);
}

/** Reads a duration, in `perUnit` ms. `such`: examples and bounds. `bounds`: the least and the most in ms. */
export const durationIn =
  (
    perUnit: number,
    such: string,
    [least, most]: readonly [number, number] = [0, Number.POSITIVE_INFINITY],
  ): Reader<string, number> =>
  (text, { flag }) => {
    const ms = parseDuration(text) ?? Number.NaN;
    return ms >= least && ms <= most ? ms / perUnit : wrong(`${flag}: '${text}' must be a duration such as ${such}.`);
  };

export const interval: Reader<string, number | 'never'> = (text, { flag }) =>
  text === 'never'
    ? text
    : (parseDuration(text) ?? wrong(`${flag}: '${text}' must be a duration such as 15m, 6h or 1d, or never.`));

export const failedShare: Reader<string, number | 'none'> = (text, { flag }) => {
  if (text === 'none') return text;
  const percent = Number(/^(\d{1,3}(?:\.\d{1,6})?)%?$/.exec(text)?.[1]);
  if (!(percent > 0 && percent <= 100))
    wrong(`${flag}: '${text}' must be a percentage above 0%, such as 20%, or none.`);
  return percent;
};

/** Returns the limit of failed answers, or undefined without the flags. */
export function failureLimit(flags: {
  readonly stopAtFailed?: number | 'none' | null;
  readonly stopAfter?: number | null;
}): FailureLimit | undefined {
  const { stopAtFailed: percent, stopAfter: after } = flags;
  if (typeof percent === 'number') return after == null ? { percent } : { percent, after };
  if (after !== undefined && percent !== null)
    wrong('--stop-after needs a percentage of failed answers. Pass --stop-at-failed, such as 20%.');
  return percent ?? undefined;
}

/** The failed rows that a command allows: a number, or a percentage of the tried rows. */
export type AllowedFailures = { readonly rows: number } | { readonly percent: number };

/** The number of rows that count as failed: `error` and `invalid`, except discarded ones. */
export const failedRows = ({ error, invalid, discarded = 0 }: WarehouseSummary): number => error + invalid - discarded;

/** Reads the failed rows that a command allows. `true`: the flag has no value, so no failed row is allowed. */
export const allowedRows: Reader<true | string, AllowedFailures> = (typed, { flag }) => {
  if (typed === true) return { rows: 0 };
  const [, number = '', percent] = /^(\d{1,9}(?:\.\d{1,6})?)(%?)$/.exec(typed) ?? [];
  const amount = Number(number);
  if (number !== '' && percent === '%' && amount <= 100) return { percent: amount };
  if (number !== '' && percent === '' && Number.isInteger(amount)) return { rows: amount };
  return wrong(
    `${flag}: '${typed}' must be a number of rows such as 10 or a percentage such as 2%. Put the file name before this option.`,
  );
};

/** Returns whether more rows than allowed failed. A percentage refers to the tried rows. */
export function tooManyFailed(summary: WarehouseSummary, allowed: AllowedFailures): boolean {
  const failed = failedRows(summary);
  const { success } = summary;
  return 'rows' in allowed ? failed > allowed.rows : 100 * failed > allowed.percent * (success + failed);
}

/** Reads the number of a row; thousands may have commas. */
export const rowNumber: Reader<string, number> = (text, { flag }) => {
  const number = /^[\d,]{1,15}$/.test(text.trim()) ? Number(text.replaceAll(',', '')) : 0;
  if (number < 1) wrong(`${flag}: ${printable(text, 60)} is not the number of a row. Rows are numbered from 1.`);
  return number;
};

const MOST_NAMED = 1000;

export const rowNumbers: Reader<readonly string[], readonly number[]> = (typed, about) => {
  if (typed.length > MOST_NAMED) wrong(`${about.flag}: at most ${MOST_NAMED} rows. Name more rows by their --tag.`);
  return distinct(typed.map((text) => rowNumber(text, about)));
};

export const distinct = <Value>(typed: readonly Value[]): readonly Value[] => [...new Set(typed)];

export const delimiter: Reader<string, string> = (text, { flag }) => {
  const named: Readonly<Record<string, string>> = { tab: '\t', '\\t': '\t', comma: ',', semicolon: ';', pipe: '|' };
  const character = named[text] ?? text;
  if ([...character].length !== 1 || /["\r\n]/.test(character))
    wrong(`${flag}: '${text}' must be one character, or tab.`);
  return character;
};

export const csvDelimiter: Reader<string, string> = (text, about) => {
  const character = delimiter(text, about);
  if (!isCsvDelimiter(character))
    wrong(`${about.flag}: '${text}' must be an ASCII character, such as a semicolon, or tab.`);
  return character;
};

export const encoding: Reader<string, string> = (text, { flag }) => {
  try {
    return new TextDecoder(text).encoding;
  } catch {
    return wrong(`${flag}: '${text}' is unknown. Name one such as utf-8, utf-16le, windows-1252 or shift_jis.`);
  }
};

export const refreshAge: Reader<string, number> = (text, about) =>
  durationIn(1, '12h, 30d or 2w')(text, about) ||
  wrong(`${about.flag} ${text}: an interrupted job would buy its own results again. Pass a longer time, such as 1h.`);
