import { problem, shown } from './checks.js';
import type { LimitProblem, ServiceLimits } from './limits.js';

/** The types of JSON Schema. */
const types: readonly unknown[] = ['object', 'array', 'string', 'integer', 'number', 'boolean', 'null'];
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

/**
 * Checks the form of a JSON Schema, because the service would refuse a wrong schema for every row. Each type must be a type of JSON Schema,
 * and each keyword that takes schemas must hold schemas. Unknown keywords pass. `roots`: further types that the service allows for the
 * whole schema.
 */
export function checkSchemaForm(
  field: string,
  schema: unknown,
  limits: ServiceLimits,
  roots: readonly string[] = [],
): LimitProblem | null {
  const found = formProblem(schema ?? true, field, [...types, ...roots], 0);
  return found && problem(found.field, found.found, found.rule, limits);
}

interface FormProblem {
  readonly field: string;
  readonly found: string;
  readonly rule: string;
}

function formProblem(schema: unknown, field: string, allowed: readonly unknown[], depth: number): FormProblem | null {
  if (typeof schema === 'boolean' || depth > MAX_DEPTH) return null;
  if (!isObject(schema)) return { field, found: `is ${kindOf(schema)}`, rule: 'it must be a JSON Schema, an object' };
  const below = (value: unknown, name: string) => formProblem(value, `${field}.${name}`, types, depth + 1);
  const { type, required } = schema;
  const listed: readonly unknown[] = Array.isArray(type) ? type : type === undefined ? [] : [type];
  const wrong = listed.find((one) => !allowed.includes(one));
  if (wrong !== undefined)
    return { field: `${field}.type`, found: `is ${shown(wrong)}`, rule: `it must be one of ${allowed.join(', ')}` };
  if (required !== undefined && !(Array.isArray(required) && required.every((name) => typeof name === 'string')))
    if (typeof required !== 'boolean')
      // In the oldest draft of JSON Schema, `required` is a boolean.
      return { field: `${field}.required`, found: `is ${kindOf(required)}`, rule: 'it must be a list of names' };
  for (const name of ofOne) {
    const part = schema[name];
    const found = part === undefined || (name === 'items' && Array.isArray(part)) ? null : below(part, name);
    if (found) return found;
  }
  for (const name of ofMany) {
    const part = schema[name];
    if (part === undefined || (name === 'items' && !Array.isArray(part))) continue;
    if (!Array.isArray(part))
      return { field: `${field}.${name}`, found: `is ${kindOf(part)}`, rule: 'it must be a list of schemas' };
    for (const [index, one] of part.entries()) {
      const found = below(one, `${name}[${index}]`);
      if (found) return found;
    }
  }
  for (const name of ofNamed) {
    const part = schema[name];
    if (part === undefined) continue;
    if (!isObject(part))
      return { field: `${field}.${name}`, found: `is ${kindOf(part)}`, rule: 'it must be an object of schemas' };
    for (const [key, one] of Object.entries(part)) {
      // No database has a column of this name, and the answers to it would be bought in vain.
      if (name === 'properties' && UNNAMEABLE.test(key))
        return {
          field: `${field}.properties`,
          found: `has the name ${shown(key)}`,
          rule: 'a name has no NUL and no half of a character',
        };
      const found = below(one, `${name}.${key}`);
      if (found) return found;
    }
  }
  return null;
}

function isObject(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function kindOf(value: unknown): string {
  return Array.isArray(value) ? 'a list' : isObject(value) ? 'an object' : shown(value);
}
