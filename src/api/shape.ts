import { ZodObject, type ZodType } from 'zod';
import { fieldOf } from './field-of.js';

/**
 * Whether a value has a shape. The value itself is used afterwards, not zod's copy of it, so that field order and unknown
 * fields are exactly what came. Schemas have no transforms, which makes the two the same to the types.
 */
export function isShape<T>(schema: ZodType<T>, value: unknown): value is T {
  return schema.safeParse(value).success;
}

/** The first thing that is wrong with a value, with the path of its field (`results[3].url`; empty for the whole). */
export function shapeProblem(schema: ZodType, value: unknown): { readonly field: string; readonly message: string } {
  const issue = schema.safeParse(value).error?.issues[0];
  if (!issue) return { field: '', message: 'not what was expected' };
  const field = issue.path.reduce<string>((path, step) => {
    if (typeof step === 'number') return `${path}[${step}]`;
    return path === '' ? String(step) : `${path}.${String(step)}`;
  }, '');
  return { field, message: issue.message };
}

/** Every answer of the service has one, and so have those of many a gateway: it tells nothing. */
const TELLS_NOTHING = new Set(['requestId']);

/** Whether a value has any field of a schema, of whatever type: if not, it is nothing that the schema describes. */
export function hasKnownField(schema: ZodType, value: unknown): boolean {
  if (!(schema instanceof ZodObject)) return true;
  return Object.keys(schema.shape).some((name) => !TELLS_NOTHING.has(name) && (fieldOf(value, name) ?? null) !== null);
}
