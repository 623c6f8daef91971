import { isSchema, pointed } from './resolve-schema.js';

const types = new Set(['object', 'array', 'string', 'integer', 'number', 'boolean', 'null']);
const bounds = [
  ['minItems', 'maxItems'],
  ['minLength', 'maxLength'],
  ['minimum', 'maximum'],
  ['minProperties', 'maxProperties'],
] as const;

/** What is wrong with a JSON schema, by its path: not a schema at all, or nothing could ever fit it. Null where nothing is. */
export function schemaProblem(schema: unknown, root: unknown = schema, path = '#', depth = 0): string | null {
  if (schema === true || depth > 64) return null;
  if (!isSchema(schema)) return `${path}: not a schema`;
  for (const type of Array.isArray(schema.type) ? schema.type : [schema.type]) {
    if (type !== undefined && !types.has(type as string)) return `${path}/type: no such type`;
  }
  for (const [least, most] of bounds) {
    if (Number(schema[least] ?? Number.NEGATIVE_INFINITY) > Number(schema[most] ?? Number.POSITIVE_INFINITY)) {
      return `${path}: ${least} is above ${most}`;
    }
  }
  if (schema.enum !== undefined && !(Array.isArray(schema.enum) && schema.enum.length > 0))
    return `${path}/enum: empty`;
  const { required, properties, $ref: reference } = schema;
  if (required !== undefined && !(Array.isArray(required) && required.every((name) => typeof name === 'string'))) {
    return `${path}/required: not a list of names`;
  }
  if (properties !== undefined && !isSchema(properties)) return `${path}/properties: not an object`;
  if (typeof reference === 'string' && pointed(reference, root) === undefined) return `${path}/$ref: nothing is there`;
  return problemBelow(schema, root, path, depth);
}

function problemBelow(schema: Readonly<Record<string, unknown>>, root: unknown, path: string, depth: number) {
  const below: [string, unknown][] = [];
  for (const name of ['properties', '$defs', 'definitions']) {
    if (isSchema(schema[name])) {
      for (const [key, one] of Object.entries(schema[name])) below.push([`${path}/${name}/${key}`, one]);
    }
  }
  for (const name of ['allOf', 'anyOf', 'oneOf', 'prefixItems']) {
    if (Array.isArray(schema[name]))
      schema[name].forEach((one, index) => void below.push([`${path}/${name}/${index}`, one]));
  }
  if (isSchema(schema.items)) below.push([`${path}/items`, schema.items]);
  for (const [place, one] of below) {
    const problem = schemaProblem(one, root, place, depth + 1);
    if (problem !== null) return problem;
  }
  return null;
}
