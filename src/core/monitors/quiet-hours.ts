/** Days of the week as people and Intl write them, Monday first. */
export const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type Weekday = (typeof weekdays)[number];

/** Minutes of a day, and of a week. */
const DAY = 1440;
const WEEK = 7 * DAY;

/**
 * Quiet hours by the clock on the wall of a time zone: on each of these days from `from` to the next `until` (the next day
 * where that is not later), or from one day of the week to another.
 */
export interface QuietHours {
  /** IANA name, such as `Europe/Berlin`. */
  readonly tz: string;
  /** `20:00`. */
  readonly from: string;
  readonly until: string;
  /** Days on which they begin. */
  readonly days: readonly Weekday[];
  /** Day on which they end; null: at the next `until`. Then `days` is one day. */
  readonly untilDay: Weekday | null;
}

/** A moment on the wall of a zone. */
export interface WallClock {
  /** `2026-03-29`. */
  readonly date: string;
  readonly day: Weekday;
  /** Minutes since midnight, with their fraction. */
  readonly minutes: number;
}

/** The wall clock of a zone at a moment (Unix ms). Intl knows the zones; nothing of them is computed here. */
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

/** Clocks by zone: one takes a hundred times as long to make as to read. */
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

/** Minutes since midnight of `20:00`; null for what is no time of a day. `24:00` is the end of a day. */
export function minutesOf(time: string): number | null {
  const [, hours, minutes] = /^(\d{1,2}):(\d{2})$/.exec(time) ?? [];
  if (hours === undefined || minutes === undefined) return null;
  const all = Number(hours) * 60 + Number(minutes);
  return Number(minutes) < 60 && all <= DAY ? all : null;
}

/** How long quiet hours last, in minutes of the wall clock. */
export function lengthOf({ from, until, days, untilDay }: QuietHours): number {
  const [begin, end] = [minutesOf(from) ?? 0, minutesOf(until) ?? 0];
  const [first] = days;
  if (untilDay === null || first === undefined) return end > begin ? end - begin : end + DAY - begin;
  const length = indexOf(untilDay) * DAY + end - (indexOf(first) * DAY + begin);
  return length > 0 ? length : length + WEEK;
}

/**
 * The quiet hours that a moment lies in, by the date on which they began; null outside of them. Where the clock is put back
 * what is past may come again: whoever ended these hours must not begin them anew.
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

/** Minutes by which clocks are put back at most, and more. */
const PUT_BACK = 180;

/**
 * Whether the clock on the wall is before the beginning of hours that have begun (`window`: on which date), because it was put back
 * since: they go on, though it does not show.
 */
export function isPutBack(at: number, hours: QuietHours, window: string): boolean {
  const wall = wallClock(at, hours.tz);
  const days = Math.round((Date.parse(`${window}T00:00:00Z`) - Date.parse(`${wall.date}T00:00:00Z`)) / 86_400_000);
  const early = days * DAY + (minutesOf(hours.from) ?? 0) - wall.minutes;
  return early > 0 && early <= PUT_BACK;
}

/** A sentence that says what is wrong with quiet hours; null where nothing is. */
export function quietHoursProblem(hours: QuietHours): string | null {
  const { tz, from, until, days, untilDay } = hours;
  if (minutesOf(from) === null || minutesOf(from) === DAY) return `from: '${from}' is no time such as 20:00`;
  if (minutesOf(until) === null) return `until: '${until}' is no time such as 07:00`;
  if (days.length === 0) return 'weekdays: none is given';
  if (untilDay !== null && days.length !== 1)
    return 'until: a day of the week goes with one day of the week to begin on';
  try {
    wallClock(0, tz);
  } catch {
    return `tz: '${tz}' is no time zone such as Europe/Berlin`;
  }
  const length = lengthOf(hours);
  const starts = days.map((day) => indexOf(day) * DAY + (minutesOf(from) ?? 0)).sort((a, b) => a - b);
  const gaps = starts.map((start, index) => (starts[index + 1] ?? (starts[0] as number) + WEEK) - start);
  if (gaps.some((gap) => gap <= length)) {
    return 'until: these hours would begin again before or when they end; give one stretch from one day to another (--from "fri 20:00" --until "mon 07:00")';
  }
  return null;
}

const indexOf = (day: Weekday): number => weekdays.indexOf(day);

/** A date some days earlier: plain days of the calendar, which no zone changes. */
function dateBefore(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) - days * DAY * 60_000).toISOString().slice(0, 10);
}
