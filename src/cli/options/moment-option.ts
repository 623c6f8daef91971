import { parseDay, parseLastDay } from './day-option.js';

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
