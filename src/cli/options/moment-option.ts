import { parseDay, parseLastDay } from './day-option.js';

/** Unix ms, or what is wrong in a sentence without its end. */
export type MomentRead = { readonly at: number } | { readonly problem: string };

/**
 * A moment: `2026-01-31` (a day of UTC; as an `end` all of it), `7d` (the day so long ago, the same), or with a time and its zone:
 * `2026-01-31T18:00Z`, `2026-01-31T18:00+01:00`.
 */
export function parseMoment(text: string, now: number, end = false): MomentRead {
  const day = (end ? parseLastDay : parseDay)(text, now);
  if (day !== null) return { at: day };
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return { problem: `'${text}' is a day that no calendar has` };
  const match = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(.*)$/.exec(text);
  if (!match)
    return {
      problem: `'${text}' is no date; give one such as 2026-01-31 (UTC), 2026-01-31T18:00Z, or 7d for the day seven days ago`,
    };
  const [, date = '', time = '', zone = ''] = match;
  if (zone === '')
    return {
      problem: `'${text}' has no time zone; write ${date}T${time}Z for UTC, or an offset such as ${date}T${time}+01:00`,
    };
  if (!/^(Z|[+-]\d{2}:?\d{2})$/i.test(zone))
    return { problem: `'${zone}' is no time zone that a date can have; give Z for UTC, or an offset such as +01:00` };
  const at = Date.parse(`${date}T${time}${zone.replace(/^([+-]\d{2})(\d{2})$/, '$1:$2').toUpperCase()}`);
  // Date.parse takes the 31st of February for a day in March.
  if (!Number.isFinite(at) || parseDay(date, now) === null)
    return { problem: `'${text}' is a moment that no calendar has` };
  return { at };
}

/** The moment of a flag; null, and a sentence in `mistakes`, where it is none. */
export function toMoment(flag: string, text: string, now: number, mistakes: string[], end = false): number | null {
  const found = parseMoment(text, now, end);
  if ('at' in found) return found.at;
  mistakes.push(`${flag}: ${found.problem}.`);
  return null;
}
