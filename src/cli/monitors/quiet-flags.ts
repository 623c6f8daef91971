import { type QuietHours, quietHoursProblem, type Weekday, weekdays } from '../../core/monitors/quiet-hours.js';

export interface QuietFlags {
  readonly from?: string;
  readonly until?: string;
  readonly tz?: string;
  readonly weekdays?: string;
}

/** Returns the quiet hours that the flags describe. If a flag is invalid, returns null and adds sentences to `mistakes`. */
export function toQuietHours(flags: QuietFlags, mistakes: string[]): QuietHours | null {
  const own: string[] = [];
  const hours = read(flags, own);
  mistakes.push(...own);
  return hours;
}

function read(flags: QuietFlags, mistakes: string[]): QuietHours | null {
  for (const name of ['from', 'until', 'tz'] as const) if (!flags[name]) mistakes.push(`--${name} is required.`);
  const from = dayAndTime(flags.from ?? '', '--from', mistakes);
  const until = dayAndTime(flags.until ?? '', '--until', mistakes);
  if (mistakes.length > 0) return null;
  if ((from.day === null) !== (until.day === null)) {
    mistakes.push(
      '--from and --until must both name a day of the week, or neither, as in "fri 20:00" and "mon 07:00".',
    );
    return null;
  }
  if (from.day !== null && flags.weekdays !== undefined) {
    mistakes.push('--weekdays is not needed: --from and --until name the days.');
    return null;
  }
  const days = from.day === null ? toDays(flags.weekdays ?? 'mon-sun', mistakes) : [from.day];
  const hours = { tz: flags.tz ?? '', from: from.time, until: until.time, days, untilDay: until.day };
  const problem = mistakes.length > 0 ? null : quietHoursProblem(hours);
  if (problem !== null) mistakes.push(`--${problem}.`);
  return mistakes.length > 0 ? null : hours;
}

function dayAndTime(
  text: string,
  flag: string,
  mistakes: string[],
): { readonly day: Weekday | null; readonly time: string } {
  const words = text.trim().split(/\s+/);
  const time = words.at(-1) ?? '';
  if (words.length === 1) return { day: null, time };
  const day = dayOf(words[0] ?? '');
  if (words.length > 2 || day === null)
    mistakes.push(`${flag}: '${text}' must be a time such as 20:00 or "fri 20:00".`);
  return { day, time };
}

/** Returns the days in texts such as `mon-fri`, `sat,sun` or `fri-mon`. */
function toDays(text: string, mistakes: string[]): Weekday[] {
  const found = new Set<Weekday>();
  for (const part of text.split(',')) {
    const [first, last = first] = part.trim().split('-').map(dayOf);
    if (!first || !last) {
      mistakes.push(`--weekdays: '${text}' must be days such as mon-fri or sat,sun.`);
      return [];
    }
    for (let index = weekdays.indexOf(first); ; index = (index + 1) % 7) {
      found.add(weekdays[index] as Weekday);
      if (weekdays[index] === last) break;
    }
  }
  return weekdays.filter((day) => found.has(day));
}

function dayOf(word: string): Weekday | null {
  return weekdays.find((day) => day === word.trim().toLowerCase().slice(0, 3)) ?? null;
}
