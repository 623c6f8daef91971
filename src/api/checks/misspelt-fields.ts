import { toJSONSchema, type ZodType } from 'zod';
import { bounds, type InputSchema, misspellings } from '../../core/check-input.js';
import { onceForEach } from '../../core/processes/once-for-each.js';
import { misspelt } from '../../core/text/nearest.js';
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
  // `limit` may be a field of an operation.
  ...bounds.filter((name) => name !== 'limit'),
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
  return [...strangers, ...misspellings(name, input, { ...schema, properties: known }, callFields)];
}

/** The way past a refusal of `misspeltFields`. */
export const WAY_PAST = 'To send it unchanged, set unchecked: true (in commands --unchecked).';

/** Returns a type as JSON Schema, which is made at the first use, because making it takes milliseconds. */
export const jsonSchemaOf = onceForEach((type: ZodType) => toJSONSchema(type) as InputSchema);
