import { z } from 'zod';
import type { Json } from '../core/text/json.js';

/** A schema whose type is exactly `T`: a missing field, an extra field or another type does not compile. */
type Exactly<T, S extends z.ZodType> = [T] extends [z.output<S>]
  ? [z.output<S>] extends [T]
    ? [keyof T] extends [keyof z.output<S>]
      ? S
      : never
    : never
  : never;
export const of =
  <T>() =>
  <S extends z.ZodType>(schema: S & Exactly<T, S>): z.ZodType<T> =>
    schema as z.ZodType as z.ZodType<T>;

export const json = z.unknown() as z.ZodType<Json>;
export const list = <T>(item: z.ZodType<T>) => z.array(item) as z.ZodType as z.ZodType<readonly T[]>;
export const text = z.string();
export const maybeText = text.nullable();
export const flag = z.boolean();
/** A whole number from 0. */
export const count = z.int().min(0);
/** A number with a fraction, such as dollars, seconds or Unix ms. */
export const number = z.number();
export const counts = z.record(z.string(), count);
