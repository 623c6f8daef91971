/** Days of the week in the form of Intl, Monday first. */
export const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type Weekday = (typeof weekdays)[number];

/** Minutes of a day, and of a week. */
const DAY = 1440;
const WEEK = 7 * DAY;

/**
 * Quiet hours in the local time of a zone. Without `untilDay`, quiet hours begin on each of `days` at `from` and end at the next `until`,
 * on the same or the next day. With `untilDay`, quiet hours last from one day of the week to another day.
 */
export interface QuietHours {
  /** IANA name, such as `Europe/Berlin`. */
  readonly tz: string;
  /** `20:00`. */
  readonly from: string;
  readonly until: string;
  /** Days on which the quiet hours begin. */
  readonly days: readonly Weekday[];
  /** Day on which the quiet hours end; null: at the next `until`. If set, `days` has one day. */
  readonly untilDay: Weekday | null;
}

/** The local time of a zone at a moment. */
export interface WallClock {
  /** `2026-03-29`. */
  readonly date: string;
  readonly day: Weekday;
  /** Minutes since midnight, with their fraction. */
  readonly minutes: number;
}

/** Returns the local time of a zone at a moment (Unix ms), by Intl. */
export function wallClock(at: number, tz: string): WallClock {
  const parts = Object.fromEntries(
    clockOf(tz)
      .formatToParts(at)
      .map(({ type, value }) => [type, value]),
  );
  const day = weekdays.find((one) => one === parts.weekday?.toLowerCase());
  if (day === undefined) throw new RangeError(`no weekday at ${at} in ${tz}`);
  return {
    date: `${parts.year}-${parts.month}-${parts.day}`,
    day,
    minutes: Number(parts.hour) * 60 + Number(parts.minute) + Number(parts.second) / 60,
  };
}

/** Formatters by zone: creating a formatter takes a hundred times as long as using one. */
const clocks = new Map<string, Intl.DateTimeFormat>();

function clockOf(tz: string): Intl.DateTimeFormat {
  const made =
    clocks.get(tz) ??
    new Intl.DateTimeFormat('en-GB', {
      ...{ timeZone: tz, calendar: 'gregory', numberingSystem: 'latn', hourCycle: 'h23', weekday: 'short' },
      ...{ year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit' },
    });
  clocks.set(tz, made);
  return made;
}

/** Minutes since midnight of a time such as `20:00`; null for another text. `24:00` is the end of a day. */
export function minutesOf(time: string): number | null {
  const [, hours, minutes] = /^(\d{1,2}):(\d{2})$/.exec(time) ?? [];
  if (hours === undefined || minutes === undefined) return null;
  const all = Number(hours) * 60 + Number(minutes);
  return Number(minutes) < 60 && all <= DAY ? all : null;
}

/** The length of quiet hours, in minutes of local time. */
export function lengthOf({ from, until, days, untilDay }: QuietHours): number {
  const [begin, end] = [minutesOf(from) ?? 0, minutesOf(until) ?? 0];
  const [first] = days;
  if (untilDay === null || first === undefined) return end > begin ? end - begin : end + DAY - begin;
  const length = indexOf(untilDay) * DAY + end - (indexOf(first) * DAY + begin);
  return length > 0 ? length : length + WEEK;
}

/**
 * Returns the date on which the quiet hours that contain a moment began; null outside of quiet hours. When clocks are put back, the same
 * local time occurs twice. The caller must not begin quiet hours a second time after their end.
 */
export function quietAt(at: number, hours: QuietHours): string | null {
  const wall = wallClock(at, hours.tz);
  const [begin, length] = [minutesOf(hours.from) ?? 0, lengthOf(hours)];
  for (let back = 0; back <= 7; back++) {
    const since = back * DAY + wall.minutes - begin;
    const day = weekdays[(indexOf(wall.day) - back + 7) % 7] as Weekday;
    if (since >= 0 && since < length && hours.days.includes(day)) return dateBefore(wall.date, back);
  }
  return null;
}

/** Maximum number of minutes by which clocks are put back. */
const PUT_BACK = 180;

/**
 * Whether clocks were put back to a time before the quiet hours that began on the date `window`. In this case these quiet hours still
 * apply.
 */
export function isPutBack(at: number, hours: QuietHours, window: string): boolean {
  const wall = wallClock(at, hours.tz);
  const days = Math.round((Date.parse(`${window}T00:00:00Z`) - Date.parse(`${wall.date}T00:00:00Z`)) / 86_400_000);
  const early = days * DAY + (minutesOf(hours.from) ?? 0) - wall.minutes;
  return early > 0 && early <= PUT_BACK;
}

/** Returns the problem of quiet hours; null where there is none. */
export function quietHoursProblem(hours: QuietHours): string | null {
  const { tz, from, until, days, untilDay } = hours;
  if (minutesOf(from) === null || minutesOf(from) === DAY) return `from must be a time such as 20:00 (got '${from}')`;
  if (minutesOf(until) === null) return `until must be a time such as 07:00 (got '${until}')`;
  if (days.length === 0) return 'days must have at least one day';
  if (untilDay !== null && days.length !== 1) return 'untilDay is set, so days must have exactly one day';
  try {
    wallClock(0, tz);
  } catch {
    return `tz must be a time zone such as Europe/Berlin (got '${tz}')`;
  }
  const length = lengthOf(hours);
  const starts = days.map((day) => indexOf(day) * DAY + (minutesOf(from) ?? 0)).sort((a, b) => a - b);
  const gaps = starts.map((start, index) => (starts[index + 1] ?? (starts[0] as number) + WEEK) - start);
  if (gaps.some((gap) => gap <= length)) {
    return 'until: the quiet hours overlap; use one range from one day to another (--from "fri 20:00" --until "mon 07:00")';
  }
  return null;
}

const indexOf = (day: Weekday): number => weekdays.indexOf(day);

/** A date some days earlier, by the calendar, independent of time zones. */
function dateBefore(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) - days * DAY * 60_000).toISOString().slice(0, 10);
}
