const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

const month = '(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)';
const time = '([01]\\d|2[0-3]):([0-5]\\d):([0-5]\\d|60)';
const shortDay = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const longDay = '(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)';

const imfFixdate = new RegExp(`^${shortDay}, (\\d\\d) ${month} (\\d{4}) ${time} GMT$`);
const rfc850Date = new RegExp(`^${longDay}, (\\d\\d)-${month}-(\\d\\d) ${time} GMT$`);
const asctimeDate = new RegExp(`^${shortDay} ${month} ([ \\d]\\d) ${time} (\\d{4})$`);

/**
 * Reads an HTTP-date in any of the three formats of RFC 9110 section 5.6.7, to Unix milliseconds; `null` for anything else.
 * `Date.parse` would accept `3.5` and `1-2` as dates. `nowMs` decides the century of two-digit years.
 */
export function parseHttpDate(value: string, nowMs: number): number | null {
  const text = value.trim();
  let match = imfFixdate.exec(text);
  if (match) return utc(Number(match[3]), match[2], match[1], match.slice(4));
  match = rfc850Date.exec(text);
  if (match) return utc(fullYear(Number(match[3]), nowMs), match[2], match[1], match.slice(4));
  match = asctimeDate.exec(text);
  if (match) return utc(Number(match[6]), match[1], match[2], match.slice(3));
  return null;
}

/** A two-digit year that seems more than 50 years ahead is the latest past year with these digits (RFC 9110). */
function fullYear(digits: number, nowMs: number): number {
  const thisYear = new Date(nowMs).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + digits;
  return year > thisYear + 50 ? year - 100 : year;
}

function utc(
  year: number,
  monthName: string | undefined,
  day: string | undefined,
  clock: readonly string[],
): number | null {
  const date = new Date(0);
  date.setUTCFullYear(year, months.indexOf(monthName ?? ''), Number(day));
  // `Date` would turn 31 February into a day of March.
  if (date.getUTCDate() !== Number(day)) return null;
  date.setUTCHours(Number(clock[0]), Number(clock[1]), Number(clock[2]));
  return date.getTime();
}

/** The longest wait that counts, in ms: a year. A larger number is a time in Unix seconds or ms, which the header does not have. */
const MOST_MS = 366 * 86_400_000;
/** A time that is longer past than this, in ms, is no wait of zero but nonsense. */
const LONG_PAST_MS = 86_400_000;

/**
 * Returns the wait in ms of a `Retry-After` header (RFC 9110 section 10.2.3): seconds, or a time in one of the three HTTP-date
 * formats. A time in the last day is 0. A long wait is a large number, which the caller caps. Nonsense is `null` like an absent header,
 * and the caller uses its own backoff: fractions, signs, words, several values, a wait of more than a year, a time long past. `nowMs`: Unix
 * ms by the service's `Date` header where the answer has one, so that different clocks do not matter.
 */
export function parseRetryAfter(value: string | null | undefined, nowMs: number): number | null {
  if (value === null || value === undefined) return null;
  const text = value.trim();
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : (parseHttpDate(text, nowMs) ?? Number.NaN) - nowMs;
  return ms <= MOST_MS && ms >= -LONG_PAST_MS ? Math.max(0, ms) : null;
}
