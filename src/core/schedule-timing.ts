/** When a schedule runs. */
export type ScheduleTiming = { readonly everyMs: number } | { readonly cron: string; readonly tz: string };

/** More often nothing new is to be had, and a run takes its time. */
const LEAST_EVERY_MS = 60_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const shorthand = /^@(hourly|daily|midnight|weekly|monthly|yearly|annually)$/;
const field = /^[\d*?,/\-a-z]+$/i;
const fields = ['minute', 'hour', 'day of the month', 'month', 'day of the week'] as const;

/** Sentences that say what is wrong with a timing, as far as that can be told without the Temporal server. */
export function timingProblems(timing: ScheduleTiming): readonly string[] {
  if ('cron' in timing) return [cronProblem(timing.cron), zoneProblem(timing.tz)].filter((problem) => problem !== null);
  return timing.everyMs >= LEAST_EVERY_MS ? [] : ['every: a minute is the least, such as 15m, 6h or 1d'];
}

function cronProblem(cron: string): string | null {
  if (shorthand.test(cron)) return null;
  const parts = cron.trim().split(/\s+/);
  if (parts.length !== fields.length) {
    return `cron: '${cron}' has ${parts.length} fields; five are needed (${fields.join(', ')}), such as "0 6 * * *"`;
  }
  const wrong = parts.findIndex((part) => !field.test(part));
  return wrong === -1 ? null : `cron: '${parts[wrong]}' is no ${fields[wrong]}`;
}

function zoneProblem(tz: string): string | null {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: tz });
    return null;
  } catch {
    return `tz: '${tz}' is no time zone such as Europe/Berlin`;
  }
}

/** How long a run that was missed, because nothing ran, is made up for, ms: runs in between are left out by the overlap. */
export function catchUpMs(timing: ScheduleTiming): number {
  return 'everyMs' in timing ? Math.min(DAY, Math.max(HOUR, timing.everyMs)) : DAY;
}

/** Runs are put off by up to so much, ms, so that many schedules of the same minute don't begin at once. */
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

/** `every 15m`, `0 6 * * * (Europe/Berlin)`. */
export function timingText(timing: ScheduleTiming): string {
  if ('cron' in timing) return `${timing.cron} (${timing.tz})`;
  const { everyMs } = timing;
  const [size, name] = units.find(([unit]) => everyMs % unit === 0) ?? [1, 'ms'];
  return `every ${everyMs / size}${name}`;
}
