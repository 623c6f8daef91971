import { z } from 'zod';
import { isObject } from '../../core/check-names.js';
import { shown } from './fields.js';

/** The types of JSON Schema, and `text`, which the service has for a whole schema. */
const types: readonly unknown[] = ['object', 'array', 'string', 'integer', 'number', 'boolean', 'null'];
const rootTypes = [...types, 'text'];
/** Keywords that take one schema, a list of schemas, or schemas by name. */
const [ofOne, ofMany, ofNamed] = [
  ['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames'],
  ['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'],
  ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'],
] as const;
/** NUL, and half of a surrogate pair. */
const UNNAMEABLE = /\0|\p{Cs}/u;
/** Schemas below this depth are not checked: the service decides about such schemas. */
const MAX_DEPTH = 64;

interface FormProblem {
  readonly path: (string | number)[];
  readonly message: string;
}

/**
 * Returns what is wrong with the form of a JSON Schema: the service would refuse the schema for every row. Each type must be a type of JSON
 * Schema, and each keyword that takes schemas must hold schemas. Unknown keywords pass.
 */
const schemaFormProblem = (schema: unknown): FormProblem | null => formProblem(schema, [], rootTypes, 0);

/**
 * A JSON Schema of the caller. Its form is checked, because a schema of a wrong form certainly is a mistake; the service decides about its
 * size. `text` is a type of the service.
 */
export const outputSchema = z.looseObject({}).superRefine((schema, context) => {
  const found = schemaFormProblem(schema);
  if (found) context.addIssue({ code: 'custom', ...found });
});

function formProblem(
  schema: unknown,
  path: (string | number)[],
  allowed: readonly unknown[],
  depth: number,
): FormProblem | null {
  const wrong = (steps: readonly string[], found: string, rule: string) => ({
    path: [...path, ...steps],
    message: `must be ${rule} (got ${found})`,
  });
  if (typeof schema === 'boolean' || depth > MAX_DEPTH) return null;
  if (!isObject(schema)) return wrong([], kindOf(schema), 'a JSON Schema, an object');
  const below = (value: unknown, ...steps: (string | number)[]) =>
    formProblem(value, [...path, ...steps], types, depth + 1);
  const { type, required } = schema;
  const listed: readonly unknown[] = Array.isArray(type) ? type : type === undefined ? [] : [type];
  const other = listed.find((one) => !allowed.includes(one));
  if (other !== undefined) return wrong(['type'], shown(other), `one of ${allowed.join(', ')}`);
  if (required !== undefined && !(Array.isArray(required) && required.every((name) => typeof name === 'string')))
    if (typeof required !== 'boolean')
      // In the oldest draft of JSON Schema, `required` is a boolean.
      return wrong(['required'], kindOf(required), 'a list of names');
  for (const name of ofOne) {
    const part = schema[name];
    const found = part === undefined || (name === 'items' && Array.isArray(part)) ? null : below(part, name);
    if (found) return found;
  }
  for (const name of ofMany) {
    const part = schema[name];
    if (part === undefined || (name === 'items' && !Array.isArray(part))) continue;
    if (!Array.isArray(part)) return wrong([name], kindOf(part), 'a list of schemas');
    for (const [index, one] of part.entries()) {
      const found = below(one, name, index);
      if (found) return found;
    }
  }
  for (const name of ofNamed) {
    const part = schema[name];
    if (part === undefined) continue;
    if (!isObject(part)) return wrong([name], kindOf(part), 'an object of schemas');
    for (const [key, one] of Object.entries(part)) {
      // No database has a column of this name, and the answers to it would be bought in vain.
      if (name === 'properties' && UNNAMEABLE.test(key))
        return wrong([name], `the name ${shown(key)}`, 'an object of names without NUL and half of a character');
      const found = below(one, name, key);
      if (found) return found;
    }
  }
  return null;
}

function kindOf(value: unknown): string {
  return Array.isArray(value) ? 'a list' : isObject(value) ? 'an object' : shown(value);
}
