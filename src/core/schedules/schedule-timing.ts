/** When a schedule runs. */
export type ScheduleTiming = { readonly everyMs: number } | { readonly cron: string; readonly tz: string };

/** The shortest interval, in ms. Results rarely change faster. */
const LEAST_EVERY_MS = 60_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const shorthand = /^@(hourly|daily|midnight|weekly|monthly|yearly|annually)$/;
const field = /^[\d*?,/\-a-z]+$/i;
const fields = ['minute', 'hour', 'day of the month', 'month', 'day of the week'] as const;

const needed = `it must have five fields (${fields.join(', ')}), such as "0 6 * * *"`;

const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
/** The largest number of days that each month can have. */
const monthLengths = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Returns the problems of a timing that can be found without a request to the Temporal server. */
export function timingProblems(timing: ScheduleTiming): readonly string[] {
  if ('cron' in timing) return [cronProblem(timing.cron), zoneProblem(timing.tz)].filter((problem) => problem !== null);
  return timing.everyMs >= LEAST_EVERY_MS ? [] : ['every must be at least a minute, such as 15m, 6h or 1d'];
}

function cronProblem(cron: string): string | null {
  if (shorthand.test(cron)) return null;
  if (cron.trim() === '') return `cron: it is empty; ${needed}`;
  const parts = cron.trim().split(/\s+/);
  if (parts.length !== fields.length) {
    return `cron: '${cron}' has ${parts.length} field${parts.length === 1 ? '' : 's'}; ${needed}`;
  }
  const wrong = parts.findIndex((part) => !field.test(part));
  if (wrong !== -1) return `cron: '${parts[wrong]}' is not a valid ${fields[wrong]}`;
  const [, , day = '', month = ''] = parts;
  return neverComes(day, month) ? `cron: '${cron}' never fires: no such month has a day ${day}` : null;
}

/** Whether the first of these days is after the end of each of these months. Forms that only the server can judge count as possible. */
function neverComes(day: string, month: string): boolean {
  // A part that does not begin with a number, such as *, begins with the first day.
  const first = Math.min(...day.split(',').map((part) => Number.parseInt(part, 10) || 1));
  const lengths = month
    .split(',')
    .flatMap(monthsOf)
    .map((each) => monthLengths[each - 1] ?? 31);
  return lengths.length > 0 && first <= 31 && first > Math.max(...lengths);
}

/** Returns the months, 1 to 12, of a part such as `2`, `feb`, `2-11/3` or `*`. */
function monthsOf(part: string): number[] {
  const [range = '', step] = part.split('/');
  const [from = '', to = step === undefined ? from : '12'] = /^[*?]$/.test(range) ? ['1', '12'] : range.split('-');
  const months: number[] = [];
  for (let month = monthOf(from); month <= Math.min(12, monthOf(to)); month += Math.max(1, Number(step ?? 1)))
    months.push(month);
  return months;
}

function monthOf(text: string): number {
  const named = monthNames.indexOf(text.toLowerCase());
  return named === -1 ? Number(text) : named + 1;
}

function zoneProblem(tz: string): string | null {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: tz });
    return null;
  } catch {
    return `tz must be a time zone such as Europe/Berlin (got '${tz}')`;
  }
}

/** Time in ms within which a missed run is still started. The overlap policy drops runs that would overlap. */
export function catchUpMs(timing: ScheduleTiming): number {
  return 'everyMs' in timing ? Math.min(DAY, Math.max(HOUR, timing.everyMs)) : DAY;
}

/** The longest delay of a run in ms. It spreads the starts of schedules that have the same minute. */
export function jitterMs(timing: ScheduleTiming): number {
  return 'everyMs' in timing ? Math.min(30_000, Math.floor(timing.everyMs / 10)) : 10_000;
}

const units = [
  [7 * DAY, 'w'],
  [DAY, 'd'],
  [HOUR, 'h'],
  [60_000, 'm'],
  [1000, 's'],
] as const;

/** Returns a timing as text, such as `every 15m` or `0 6 * * * (Europe/Berlin)`. */
export function timingText(timing: ScheduleTiming): string {
  if ('cron' in timing) return `${timing.cron} (${timing.tz})`;
  const { everyMs } = timing;
  const [size, name] = units.find(([unit]) => everyMs % unit === 0) ?? [1, 'ms'];
  return `every ${everyMs / size}${name}`;
}
