import { toJSONSchema, type ZodType } from 'zod';
import { type InputSchema, misspellings } from '../../core/inputs/check-input.js';

/** Fields about the caller rather than about one operation: other operations of the service may accept these fields, too. */
export const commonFields: readonly string[] = [
  'compliance',
  'flags',
  'metadata',
  'moderation',
  'systemPrompt',
  'userIdentifier',
];

const schemas = new WeakMap<ZodType, InputSchema>();

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
  return misspellings(operation, input, schemaOf(request), elsewhere);
}

function schemaOf(request: ZodType): InputSchema {
  const known = schemas.get(request);
  if (known) return known;
  const schema = toJSONSchema(request) as InputSchema;
  const common = Object.fromEntries(commonFields.map((name) => [name, {}]));
  const made = { ...schema, properties: { ...common, ...schema.properties } };
  schemas.set(request, made);
  return made;
}
