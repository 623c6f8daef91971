import { z } from 'zod';
import { oneLine } from './redact.js';

/** A field that cannot be sent, or that certainly is a mistake. */
export interface FieldProblem {
  /** Path of the field in the request, such as `contents.highlights.numSentences` or `urls[3]`. */
  readonly field: string;
  readonly message: string;
}

/** A value for an error message. Strings are cut, because a string may be long or private. */
export function shown(value: unknown): string {
  return typeof value === 'string'
    ? `"${oneLine(value, 40)}"`
    : oneLine(typeof value === 'object' ? JSON.stringify(value) : String(value), 40);
}

/** A schema with a rule that only senseless values break. Upper limits are left to the service, because they differ between teams. */
export const ruled = <S extends z.ZodType>(schema: S, rule: string, holds: (value: z.output<S>) => boolean): S =>
  schema.refine(holds, { error: ({ input }) => `must be ${rule} (got ${shown(input)})` });

/** A whole number from `min` on. */
export const whole = (min: number) =>
  ruled(z.number(), `a whole number of at least ${min}`, (value) => Number.isInteger(value) && value >= min);

export const positive = ruled(z.number(), 'above 0', (value) => value > 0);

/** A text with at least one visible character. */
export const filled = ruled(z.string(), 'a text that is not empty', (value) => value.trim() !== '');

/** A text with known values. The service may accept others, so only a misspelt known value is refused. */
export const oneOf = (...values: readonly string[]) => z.string().meta({ examples: [...values] });

/** The characters of the forms of ISO 8601: `2025-01-31`, `2025-01`, `20250131T0000Z`, `2025-W05-5`. */
const isoDate = /^\d{4}[-\dTtWwZz:.,+ ]*$/;

/** An ISO 8601 date or date-time. */
export const date = ruled(z.string(), 'an ISO 8601 date or date-time', (value) => {
  if (!isoDate.test(value)) return false;
  // `Date` reads February 30 as March 2.
  const [day] = /^\d{4}-\d\d-\d\d/.exec(value) ?? [];
  return day === undefined || (!Number.isNaN(Date.parse(day)) && new Date(day).toISOString().startsWith(day));
});

/** Returns a value without the null members of its objects: clients of other languages send null for an absent field. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(members.map(([name, member]) => [name, withoutNulls(member)]));
}
