import { z } from 'zod';

/** `limit` and `cursor` of a list; `limit` is a whole number from 1 to `most`. */
export function listQueryOf<T extends z.ZodRawShape>(most: number, usual: number, more: T) {
  return z.looseObject({ limit: limitSchema(most, usual), cursor: z.string().min(1).optional(), ...more });
}

function limitSchema(most: number, usual: number) {
  return z
    .string()
    .regex(/^\d+$/, 'not a whole number')
    .transform(Number)
    .pipe(z.number().min(1).max(most))
    .default(usual);
}
