import type { z } from 'zod';
import { Refusal } from './refusal.js';

/** Checks a body against a schema; the refusal names the first few wrong fields. */
export function checkInput<T>(schema: z.ZodType<T>, input: unknown): T {
  return check(schema, input, 'INVALID_REQUEST_BODY', 'Invalid request body');
}

/** Checks the query of a GET; `lists` names the parameters that may be repeated. */
export function checkQuery<T>(schema: z.ZodType<T>, query: URLSearchParams, lists: readonly string[] = []): T {
  const fields: Record<string, unknown> = {};
  for (const name of new Set(query.keys())) {
    const plain = name.replace(/\[\]$/, '');
    fields[plain] = lists.includes(plain) ? [...query.getAll(plain), ...query.getAll(`${plain}[]`)] : query.get(name);
  }
  return check(schema, fields, 'INVALID_REQUEST_QUERY', 'Invalid query');
}

function check<T>(schema: z.ZodType<T>, input: unknown, tag: string, what: string): T {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const reported = parsed.error.issues
    .slice(0, 5)
    .map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`);
  throw new Refusal(400, tag, `${what}: ${reported.join('; ')}`);
}
