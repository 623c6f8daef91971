import { MOST_STOP_AFTER } from '../core/choices.js';
import { UsageError } from '../core/errors/coded-error.js';
import type { FailureLimit, MaxCost, WarehouseSummary } from '../core/row-job-schemas.js';
import { parseDollars, toDollars } from '../core/text/money.js';
import type { Flags } from './shared/command.js';

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

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/**
 * Returns a duration such as `90m`, `12h`, `30d` or `2w` in milliseconds; null for other texts, such as a number without a
 * unit.
 */
export function parseDuration(text: string): number | null {
  const match = /^(\d{1,6})(s|m|h|d|w)$/.exec(text.trim());
  return match ? Number(match[1]) * (unitMs[match[2] as string] as number) : null;
}

const DAY_MS = 86_400_000;

/**
 * Returns the start of a UTC day in Unix ms; null for other texts. Formats: a date (`2026-11-21`), or an age (`7d`, `2w`). An
 * age means a whole day, so that a command that is repeated a minute later has the same range.
 */
export function parseDay(text: string, now: number): number | null {
  const ago = /^\d+[dw]$/.test(text) ? parseDuration(text) : null;
  if (ago !== null) return Math.floor((now - ago) / DAY_MS) * DAY_MS;
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return null;
  const at = Date.parse(`${text}T00:00:00Z`);
  // Date.parse accepts February 31 as a day in March.
  return Number.isFinite(at) && new Date(at).toISOString().startsWith(text) ? at : null;
}

/** Returns the end of a day in Unix ms; null for other texts. The formats are those of `parseDay`. */
export function parseLastDay(text: string, now: number): number | null {
  const day = parseDay(text, now);
  return day === null ? null : day + DAY_MS;
}

/**
 * Returns the time that a flag sets: a UTC day (`2026-01-31`), an age in days (`7d`), or a time with its zone (`2026-01-31T18:00Z`,
 * `2026-01-31T18:00+01:00`). With `end`, a day is inclusive.
 */
export function toMoment(flag: string, text: string, now: number, end = false): number {
  const day = (end ? parseLastDay : parseDay)(text, now);
  if (day !== null) return day;
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
}

/** Returns the whole number of a flag; undefined without the flag. */
export function toCount(text: string | undefined, flag: string, most: number): number | undefined {
  if (text === undefined) return undefined;
  const number = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (number < 1 || number > most) wrong(`${flag}: '${text}' must be a whole number from 1 to ${most}.`);
  return number;
}

/** Returns the time that a flag of days sets: the start of the day, or with `end` its end. Undefined without the flag. */
export function toDay(flag: string, text: string | undefined, now: number, end = false): number | undefined {
  const at = text === undefined ? undefined : (end ? parseLastDay : parseDay)(text, now);
  if (at === null) wrong(`${flag}: '${text}' must be a UTC date (2026-11-21) or an age in days or weeks (7d, 2w).`);
  return at ?? undefined;
}

/** Returns the amount of a flag in dollars, or undefined without the flag. `or`: another value that the flag takes. */
export function toAmount(flag: string, text: string | undefined, or = ''): number | undefined {
  if (text === undefined) return undefined;
  const micros = parseDollars(text);
  return micros === null
    ? wrong(`${flag}: '${text}' must be an amount in dollars such as 5 or 0.50${or}.`)
    : toDollars(micros);
}

/** Returns the value of `--max-cost`, or of another cap, or undefined without the flag. */
export const readMaxCost = (text: string | undefined, flag = '--max-cost'): MaxCost | undefined =>
  text === 'none' ? text : toAmount(flag, text, ', or none');

/** Returns the duration of a flag in ms, or undefined without the flag. `such`: examples and bounds. */
export function toDuration(
  flag: string,
  text: string | undefined,
  such: string,
  [least, most]: readonly [number, number] = [0, Number.POSITIVE_INFINITY],
): number | undefined {
  if (text === undefined) return undefined;
  const ms = parseDuration(text) ?? Number.NaN;
  return ms >= least && ms <= most ? ms : wrong(`${flag}: '${text}' must be a duration such as ${such}.`);
}

/** Returns the limit of failed answers, or undefined without the flags. */
export function readFailureLimit(flags: Pick<Flags<'enrich'>, 'stopAtFailed' | 'stopAfter'>): FailureLimit | undefined {
  const { stopAtFailed, stopAfter } = flags;
  if (stopAtFailed === undefined || stopAtFailed === 'none') {
    if (stopAfter !== undefined)
      wrong('--stop-after needs a percentage of failed answers. Pass --stop-at-failed, such as 20%.');
    return stopAtFailed;
  }
  const percent = Number(/^(\d{1,3}(?:\.\d{1,6})?)%?$/.exec(stopAtFailed)?.[1]);
  const after = stopAfter === undefined || /^\d{1,10}$/.test(stopAfter) ? Number(stopAfter ?? 1) : 0;
  refuse(
    !(percent > 0 && percent <= 100) &&
      `--stop-at-failed: '${stopAtFailed}' must be a percentage above 0%, such as 20%, or none.`,
    !(after >= 1 && after <= MOST_STOP_AFTER) &&
      `--stop-after: '${stopAfter}' must be a whole number of rows, 1 or more.`,
  );
  return stopAfter === undefined ? { percent } : { percent, after };
}

/** The failed rows that a command allows: a number, or a percentage of the tried rows. */
export type FailedRows = { readonly rows: number } | { readonly percent: number };

/** The number of rows that count as failed: `error` and `invalid`, except discarded ones. */
export const failedRows = ({ error, invalid, discarded = 0 }: WarehouseSummary): number => error + invalid - discarded;

/** Returns the limit that `--fail-on-failed-rows` sets. `true`: the flag has no value, so no failed row is allowed. */
export function readFailedRows(typed: true | string | undefined): FailedRows | null {
  if (typed === undefined) return null;
  if (typed === true) return { rows: 0 };
  const [, number = '', percent] = /^(\d{1,9}(?:\.\d{1,6})?)(%?)$/.exec(typed) ?? [];
  const amount = Number(number);
  if (number !== '' && percent === '%' && amount <= 100) return { percent: amount };
  if (number !== '' && percent === '' && Number.isInteger(amount)) return { rows: amount };
  return wrong(
    `--fail-on-failed-rows: '${typed}' must be a number of rows such as 10 or a percentage such as 2%. Put the file name before this option.`,
  );
}

/** Returns whether more rows than allowed failed. A percentage refers to the tried rows. */
export function tooManyFailed(summary: WarehouseSummary, allowed: FailedRows): boolean {
  const failed = failedRows(summary);
  const { success } = summary;
  return 'rows' in allowed ? failed > allowed.rows : 100 * failed > allowed.percent * (success + failed);
}

/** States that `jobs --state` accepts: those of the glossary. */
export const jobStates = [
  ...['planning', 'running', 'waiting', 'paused', 'stopped', 'interrupted', 'done', 'failed', 'cancelled'],
  'waiting for a worker',
];
