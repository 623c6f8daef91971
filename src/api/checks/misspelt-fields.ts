import { toJSONSchema, type ZodType } from 'zod';
import { bounds, type InputSchema, misspellings } from '../../core/check-names.js';
import { onceForEach } from '../../core/processes/once-for-each.js';
import { misspelt } from '../../core/text/nearest.js';
import { fieldOf } from './field-of.js';
import type { FieldProblem } from './fields.js';

/** Fields about the caller rather than about one operation: other operations of the service may accept these fields, too. */
const commonFields: readonly string[] = [
  'compliance',
  'flags',
  'metadata',
  'moderation',
  'stream',
  'systemPrompt',
  'userIdentifier',
];
const common = Object.fromEntries(commonFields.map((name) => [name, {}]));

/** Options of a call, which must not be inside its request. */
const callFields: readonly string[] = [
  ...['beta', 'extraHeaders', 'unchecked', 'maxDurationSeconds', 'deleteAfter'],
  // An operation may have fields of these names.
  ...bounds.filter((name) => name !== 'limit' && name !== 'publish'),
];

/** An operation, as far as its request is concerned. */
export interface Requested {
  readonly name: string;
  readonly paid: boolean;
  readonly request: ZodType;
}

/**
 * Returns the certain mistakes in the names and known values of a request, at any depth: a misspelt name, a misspelt value, and a field that
 * only other operations (of `all`) have. The service would ignore such a field, and the answer would be bought without its effect. Other
 * unknown fields and values may be new ones of the service, and are no problems.
 */
export function misspeltFields(
  { name, request }: Requested,
  input: unknown,
  all: readonly Requested[],
): readonly FieldProblem[] {
  const schema = jsonSchemaOf(request);
  const known = { ...common, ...schema.properties };
  const strangers = Object.keys(typeof input === 'object' && input !== null ? input : {}).flatMap((field) => {
    // No service has fields of these names, such as `constructor`.
    if (field in Object.prototype) return [{ field, message: `${field} is not a field of ${name}.` }];
    // A name near a known one is reported once, as misspelt.
    if (Object.hasOwn(known, field) || misspelt(field, Object.keys(known))) return [];
    const fieldsOf = (one: Requested) => (one.paid ? Object.keys(jsonSchemaOf(one.request).properties ?? {}) : []);
    const others = all.filter((one) => fieldsOf(one).includes(field));
    if (others.length > 0)
      return [
        { field, message: `${field} is a field of ${others.map((one) => one.name).join(', ')}, not of ${name}.` },
      ];
    const meant = misspelt(field, all.flatMap(fieldsOf));
    return meant
      ? [{ field, message: `${field} is not a field of ${name}; did you mean ${meant} of another operation?` }]
      : [];
  });
  return [
    ...strangers,
    ...misspellings(name, input, { ...schema, properties: known }, callFields),
    ...schemaPaths.flatMap((path) => misspeltKeywords(path.reduce(fieldOf, input), path.join('.'))),
  ];
}

/** Where a request may have a JSON Schema. */
const schemaPaths = [
  ['outputSchema'],
  ['output', 'schema'],
  ['summary', 'schema'],
  ['contents', 'summary', 'schema'],
] as const;

/** Schemas below this depth are not compared. */
const MOST_DEPTH = 64;

/** Keywords of JSON Schema, and those of OpenAPI that schemas of requests often have. */
const keywords: readonly string[] = `
  $schema $id $ref $defs $comment definitions type title description default deprecated properties
  patternProperties additionalProperties propertyNames required dependentRequired items prefixItems
  additionalItems contains minItems maxItems uniqueItems minProperties maxProperties enum const format pattern
  minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum multipleOf allOf anyOf oneOf not if then
  else examples example nullable readOnly writeOnly`
  .trim()
  .split(/\s+/);

/** Returns the misspelt keywords of a schema and of the schemas of its properties: their columns would be missing. */
function misspeltKeywords(schema: unknown, path: string, depth = 0): readonly FieldProblem[] {
  if (depth > MOST_DEPTH || typeof schema !== 'object' || schema === null || Array.isArray(schema)) return [];
  const found = Object.keys(schema).flatMap((keyword) => {
    const meant = keywords.includes(keyword) ? null : misspelt(keyword, keywords);
    const field = `${path}.${keyword}`;
    return meant ? [{ field, message: `${field} is no keyword of JSON Schema; did you mean ${meant}?` }] : [];
  });
  const parts = { ...Object(fieldOf(schema, 'properties')), items: fieldOf(schema, 'items') };
  const below = Object.entries(parts).flatMap(([name, part]) => misspeltKeywords(part, `${path}.${name}`, depth + 1));
  return [...found, ...below];
}

/** The way past a refusal of `misspeltFields`. */
export const WAY_PAST = 'To send it unchanged, set unchecked: true (in commands --unchecked).';

/** Returns a type as JSON Schema, which is made at the first use, because making it takes milliseconds. */
export const jsonSchemaOf = onceForEach((type: ZodType) => toJSONSchema(type) as InputSchema);
