import { Cron } from 'croner';

/** When a schedule runs. */
export type ScheduleTiming = { readonly everyMs: number } | { readonly cron: string; readonly tz: string };

/** The shortest interval, in ms. Results rarely change more often. */
const LEAST_EVERY_MS = 60_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const shorthand = /^@(hourly|daily|midnight|weekly|monthly|yearly|annually)$/;
/** Numbers and three-letter names. The Temporal server does not accept other cron characters, such as `?`, `L` and `#`. */
const field = /^(?:[\d*,/-]|[a-z]{3})+$/i;
const fields = ['minute', 'hour', 'day of the month', 'month', 'day of the week'] as const;

const needed = `it must have five fields (${fields.join(', ')}), such as "0 6 * * *"`;

/** Returns the problems of a timing that can be found without a request to the Temporal server. */
export function timingProblems(timing: ScheduleTiming): readonly string[] {
  if ('cron' in timing) return [cronProblem(timing.cron), zoneProblem(timing.tz)].filter((problem) => problem !== null);
  return timing.everyMs >= LEAST_EVERY_MS ? [] : ['every must be at least a minute, such as 15m, 6h or 1d'];
}

function cronProblem(cron: string): string | null {
  if (shorthand.test(cron)) return null;
  if (cron.trim() === '') return `cron: it is empty; ${needed}`;
  const parts = cron.trim().split(/\s+/);
  if (parts.length !== fields.length)
    return `cron: '${cron}' has ${parts.length} field${parts.length === 1 ? '' : 's'}; ${needed}`;
  const alone = (part: string, nth: number) => fields.map((_, at) => (at === nth ? part : '*')).join(' ');
  const wrong = parts.findIndex((part, nth) => !field.test(part) || !readCron(alone(part, nth), 'UTC'));
  if (wrong !== -1) return `cron: '${parts[wrong]}' is not a valid ${fields[wrong]}`;
  const [, , day = '*', , weekday = '*'] = parts;
  if (!day.startsWith('*') && !weekday.startsWith('*'))
    return (
      `cron: '${cron}' names days of the month and days of the week. The Temporal server starts it on days that are both, ` +
      'and cron on days that are one of them. Use * for one of the fields, or two schedules'
    );
  if (readCron(cron, 'UTC')?.nextRun()) return null;
  return `cron: '${cron}' never fires: no date has this day and month`;
}

/**
 * Reads five fields as the Temporal server does: a date must match both the day of the month and the day of the week. Returns null if a
 * field is wrong.
 */
export function readCron(cron: string, timezone: string): Cron | null {
  try {
    return new Cron(cron.trim(), { mode: '5-part', domAndDow: true, sloppyRanges: true, paused: true, timezone });
  } catch {
    return null;
  }
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

/** The longest delay of a run in ms. The delay spreads the starts of schedules that have the same minute. */
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
