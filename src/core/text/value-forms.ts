/** Patterns that JavaScript, DuckDB and PostgreSQL read in the same way. A text of another form is no value of the type. */
export const NUMBER = '^[+-]?[0-9]+([.][0-9]+)?([eE][+-]?[0-9]+)?$';
/** Whole numbers without an exponent, which keep all of their digits. */
export const DIGITS = '^[+-]?[0-9]+$';
/** The zone at the end of a time. A time without a zone is UTC. */
export const ZONE = '([Zz]|[+-](0[0-9]|1[0-4])(:?[0-5][0-9])?)$';
const YEAR = '([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])';
/** A day from year 1 on, or a time on such a day. */
export const TIME = `^${YEAR}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])($|[Tt ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]+)?)?($|${ZONE}))`;

const isTime = new RegExp(TIME);

/** Unix ms of a day or a time, as the databases read it; null for any other value. */
export function millisOf(value: unknown): number | null {
  if (typeof value !== 'string' || !isTime.test(value)) return null;
  const [day, rest] = [value.slice(0, 10), value.slice(11)];
  // JavaScript reads February 30 as a day in March.
  if (!new Date(`${day}T00:00:00Z`).toISOString().startsWith(day)) return null;
  const [, clock = '00:00', sign = '+', hours = '00', minutes = '00'] =
    /^([\d:.]+)(?:Z|z|([+-])(\d\d):?(\d\d)?)?$/.exec(rest) ?? [];
  return Date.parse(`${day}T${clock}${sign}${hours}:${minutes}`);
}

/** Returns a name of a column without the byte order marks before it, which DuckDB's client drops where it reads names. */
export const withoutMarks = (name: string): string => name.replace(/^\ufeff+(?=.)/s, '');
