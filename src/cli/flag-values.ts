import { MOST_STOP_AFTER } from '../core/choices.js';
import type { FailureLimit, MaxCost, WarehouseSummary } from '../core/row-job-schemas.js';
import { parseDollars, toDollars } from '../core/text/money.js';
import type { Flags } from './shared/command.js';

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

/** A time in Unix ms, or a problem as a sentence without its full stop. */
export type MomentRead = { readonly at: number } | { readonly problem: string };

/**
 * Reads a time: a UTC day (`2026-01-31`), an age in days (`7d`), or a time with its zone (`2026-01-31T18:00Z`,
 * `2026-01-31T18:00+01:00`). With `end`, a day is inclusive.
 */
export function parseMoment(text: string, now: number, end = false): MomentRead {
  const day = (end ? parseLastDay : parseDay)(text, now);
  if (day !== null) return { at: day };
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return { problem: `'${text}' is not a date of the calendar` };
  const match = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(.*)$/.exec(text);
  if (!match)
    return {
      problem: `'${text}' must be a UTC date (2026-01-31), a time (2026-01-31T18:00Z) or an age (7d)`,
    };
  const [, date = '', time = '', zone = ''] = match;
  if (zone === '')
    return {
      problem: `'${text}' has no time zone; write ${date}T${time}Z for UTC, or an offset such as ${date}T${time}+01:00`,
    };
  if (!/^(Z|[+-]\d{2}:?\d{2})$/i.test(zone))
    return { problem: `'${zone}' is not a valid time zone; use Z for UTC, or an offset such as +01:00` };
  const at = Date.parse(`${date}T${time}${zone.replace(/^([+-]\d{2})(\d{2})$/, '$1:$2').toUpperCase()}`);
  // Date.parse accepts February 31 as a day in March.
  if (!Number.isFinite(at) || parseDay(date, now) === null)
    return { problem: `'${text}' is not a time of the calendar` };
  return { at };
}

/** Returns the time that a flag sets. If the time is invalid, returns null and adds a sentence to `mistakes`. */
export function toMoment(flag: string, text: string, now: number, mistakes: string[], end = false): number | null {
  const found = parseMoment(text, now, end);
  if ('at' in found) return found.at;
  mistakes.push(`${flag}: ${found.problem}.`);
  return null;
}

/** Returns the whole number of a flag; undefined without the flag. */
export function toCount(text: string | undefined, flag: string, most: number, mistakes: string[]): number | undefined {
  if (text === undefined) return undefined;
  const number = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (number < 1 || number > most) mistakes.push(`${flag}: '${text}' must be a whole number from 1 to ${most}.`);
  return number;
}

/** Returns the time that a flag of days sets: the start of the day, or with `end` its end. Undefined without the flag. */
export function toDay(
  flag: string,
  text: string | undefined,
  now: number,
  mistakes: string[],
  end = false,
): number | undefined {
  const at = text === undefined ? undefined : (end ? parseLastDay : parseDay)(text, now);
  if (at === null)
    mistakes.push(`${flag}: '${text}' must be a UTC date (2026-11-21) or an age in days or weeks (7d, 2w).`);
  return at ?? undefined;
}

/** Returns the value of `--max-cost`, or undefined without the flag; adds a sentence to `mistakes` if the value is invalid. */
export function readMaxCost(text: string | undefined, mistakes: string[]): MaxCost | undefined {
  if (text === undefined || text === 'none') return text;
  const micros = parseDollars(text);
  if (micros !== null) return toDollars(micros);
  mistakes.push(`--max-cost: '${text}' must be an amount in dollars such as 5 or 0.50, or none.`);
  return undefined;
}

/** Returns the limit of failed answers, or undefined without the flags; adds a sentence to `mistakes` for each invalid value. */
export function readFailureLimit(
  { stopAtFailed, stopAfter }: Pick<Flags<'enrich'>, 'stopAtFailed' | 'stopAfter'>,
  mistakes: string[],
): FailureLimit | undefined {
  if (stopAtFailed === undefined || stopAtFailed === 'none') {
    if (stopAfter !== undefined)
      mistakes.push('--stop-after needs a percentage of failed answers. Pass --stop-at-failed, such as 20%.');
    return stopAtFailed;
  }
  const percent = Number(/^(\d{1,3}(?:\.\d{1,6})?)%?$/.exec(stopAtFailed)?.[1]);
  const isShare = percent > 0 && percent <= 100;
  if (!isShare)
    mistakes.push(`--stop-at-failed: '${stopAtFailed}' must be a percentage above 0%, such as 20%, or none.`);
  const after = stopAfter === undefined || /^\d{1,10}$/.test(stopAfter) ? Number(stopAfter ?? 1) : 0;
  const isCount = after >= 1 && after <= MOST_STOP_AFTER;
  if (!isCount) mistakes.push(`--stop-after: '${stopAfter}' must be a whole number of rows, 1 or more.`);
  if (!isShare || !isCount) return undefined;
  return stopAfter === undefined ? { percent } : { percent, after };
}

/** The failed rows that a command allows: a number, or a percentage of the tried rows. */
export type FailedRows = { readonly rows: number } | { readonly percent: number };

/** The number of rows that count as failed: `error` and `invalid`, except discarded ones. */
export const failedRows = ({ error, invalid, discarded = 0 }: WarehouseSummary): number => error + invalid - discarded;

/**
 * Returns the limit that `--fail-on-failed-rows` sets; adds a sentence to `mistakes` if the limit is invalid. `true`: the
 * flag has no value, so no failed row is allowed.
 */
export function readFailedRows(typed: true | string | undefined, mistakes: string[]): FailedRows | null {
  if (typed === undefined) return null;
  if (typed === true) return { rows: 0 };
  const [, number = '', percent] = /^(\d{1,9}(?:\.\d{1,6})?)(%?)$/.exec(typed) ?? [];
  const amount = Number(number);
  if (number !== '' && percent === '%' && amount <= 100) return { percent: amount };
  if (number !== '' && percent === '' && Number.isInteger(amount)) return { rows: amount };
  mistakes.push(
    `--fail-on-failed-rows: '${typed}' must be a number of rows such as 10 or a percentage such as 2%. Put the file name before this option.`,
  );
  return null;
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
