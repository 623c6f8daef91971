import type { ZodType } from 'zod';

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
