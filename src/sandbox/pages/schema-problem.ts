import { isSchema, pointed } from './resolve-schema.js';

const types = new Set(['object', 'array', 'string', 'integer', 'number', 'boolean', 'null']);
const bounds = [
  ['minItems', 'maxItems'],
  ['minLength', 'maxLength'],
  ['minimum', 'maximum'],
  ['minProperties', 'maxProperties'],
] as const;

/** Keywords that the sandbox does not support. A schema with such a keyword is refused; the keyword is not ignored. */
const unmade = ['not', 'if', 'contains', 'dependentRequired', 'dependentSchemas', 'propertyNames'];

/**
 * The first mistake in a JSON schema, with the path of the mistake: a part is not a schema, or no value can match the part. Null if there
 * is no mistake.
 */
export function schemaProblem(schema: unknown, root: unknown = schema, path = '#', depth = 0): string | null {
  if (schema === true || depth > 64) return null;
  if (!isSchema(schema)) return `${path}: not a schema`;
  for (const type of Array.isArray(schema.type) ? schema.type : [schema.type]) {
    if (type !== undefined && !types.has(type as string)) return `${path}/type: no such type`;
  }
  const foreign = unmade.find((name) => schema[name] !== undefined);
  if (foreign !== undefined) return `${path}/${foreign}: cannot be satisfied here`;
  for (const pattern of Object.keys(isSchema(schema.patternProperties) ? schema.patternProperties : {})) {
    if (!isPattern(pattern)) return `${path}/patternProperties: not a regular expression`;
  }
  const { additionalProperties, minProperties, properties: named } = schema;
  const closed = additionalProperties === false && schema.patternProperties === undefined;
  if (closed && Number(minProperties ?? 0) > Object.keys(isSchema(named) ? named : {}).length)
    return `${path}: minProperties is above the number of properties`;
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

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}

function problemBelow(schema: Readonly<Record<string, unknown>>, root: unknown, path: string, depth: number) {
  const below: [string, unknown][] = [];
  for (const name of ['properties', 'patternProperties', '$defs', 'definitions']) {
    if (isSchema(schema[name])) {
      for (const [key, one] of Object.entries(schema[name])) below.push([`${path}/${name}/${key}`, one]);
    }
  }
  for (const name of ['allOf', 'anyOf', 'oneOf', 'prefixItems']) {
    if (Array.isArray(schema[name]))
      schema[name].forEach((one, index) => void below.push([`${path}/${name}/${index}`, one]));
  }
  for (const name of ['items', 'additionalProperties']) {
    if (isSchema(schema[name])) below.push([`${path}/${name}`, schema[name]]);
  }
  for (const [childPath, one] of below) {
    const problem = schemaProblem(one, root, childPath, depth + 1);
    if (problem !== null) return problem;
  }
  return null;
}
