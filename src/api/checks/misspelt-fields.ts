import { toJSONSchema, type ZodType } from 'zod';
import { type InputSchema, misspellings } from '../../core/inputs/check-input.js';
import { onceForEach } from '../../core/processes/once-for-each.js';

/** Fields about the caller rather than about one operation: other operations of the service may accept these fields, too. */
export const commonFields: readonly string[] = [
  'compliance',
  'flags',
  'metadata',
  'moderation',
  'systemPrompt',
  'userIdentifier',
];

const common = Object.fromEntries(commonFields.map((name) => [name, {}]));

/**
 * Returns the problems of a request's names of fields, at any depth: the service would ignore a misspelt field, and the answer would be
 * bought without its effect. Other unknown fields may be new fields of the service, and are no problems. `operation`: name for messages.
 * `elsewhere`: fields that belong to the options of the call.
 */
export function misspeltFields(
  operation: string,
  request: ZodType,
  input: unknown,
  elsewhere: readonly string[] = [],
): readonly string[] {
  const schema = jsonSchemaOf(request);
  return misspellings(operation, input, { ...schema, properties: { ...common, ...schema.properties } }, elsewhere);
}

/** Returns a type as JSON Schema, which is made at the first use, because making it takes milliseconds. */
export const jsonSchemaOf = onceForEach((type: ZodType) => toJSONSchema(type) as InputSchema);
