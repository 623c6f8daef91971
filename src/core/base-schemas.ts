import { z } from 'zod';
import type { Json } from './text/json.js';
import { MOST_DOLLARS } from './text/money.js';

export type ValueOf<S extends z.ZodType> = Readonly<z.output<S>>;

/** The fields of an object, each of which may be absent. */
export const partly = <Shape extends z.ZodRawShape>(shape: Shape) => z.object(shape).partial().shape;

export type JsonObject = { readonly [field: string]: Json };

export const json = z.unknown() as z.ZodType<Json>;
export const list = <T>(item: z.ZodType<T>) => z.array(item) as z.ZodType as z.ZodType<readonly T[]>;
export const text = z.string();
export const maybeText = text.nullable();
export const flag = z.boolean();
/** A whole number from 0. */
export const count = z.int().min(0);
/** A number with a fraction, such as dollars, seconds or Unix ms. */
export const number = z.number();
export const time = number.nullable();
export const counts = z.record(z.string(), count);

/** The following schemas are for inputs. */
export const filled = z.string().min(1);
export const countFrom1 = z.int().min(1);
/** Unix ms, up to the year 9999. */
export const moment = z.number().min(0).max(253_402_300_799_999);
/** At most a thousand years. */
export const milliseconds = z.number().min(0).max(31_556_952_000_000);
/** Fields that are passed to the service unchecked. */
export const open = z.looseObject({}) as z.ZodType as z.ZodType<JsonObject>;

/** A time in seconds up to a bound, which `why` explains. */
export const seconds = (most: number, why: string) =>
  z
    .number()
    .positive()
    .max(most)
    .meta({ must: `a number of seconds above 0 and at most ${most}, ${why}` });

export const dollars = z.number().min(0).max(MOST_DOLLARS);

/** How requests are sent, beside their fields. */
export const sent = partly({
  beta: list(filled).describe(
    'Tokens of beta features (API reference: beta features). The tokens that `effort: max` and dynamic highlights need are added.',
  ),
  extraHeaders: (z.record(z.string(), z.string()) as z.ZodType as z.ZodType<Readonly<Record<string, string>>>).describe(
    'Further headers. They are in histories, so headers with keys, tokens or cookies are refused; such headers are settings of the worker.',
  ),
  unchecked: flag.describe(
    'Sends misspelt names and values, and fields of other operations, too. Default: they are refused before anything is bought.',
  ),
});
export type SentWith = Readonly<z.output<z.ZodObject<typeof sent>>>;
