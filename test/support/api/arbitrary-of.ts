import fc from 'fast-check';
import { type ZodType, z } from 'zod';

interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema | boolean;
  readonly items?: JsonSchema;
}

const anyJson = fc.jsonValue({ maxDepth: 2 });
/** Names that are in no schema. */
const unknownFields = fc.dictionary(
  fc.string({ maxLength: 6 }).map((name) => `~${name}`),
  anyJson,
  { maxKeys: 2 },
);

function ofSchema(schema: JsonSchema): fc.Arbitrary<unknown> {
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(ofSchema));
  if (typeof schema.type === 'object') return fc.oneof(...schema.type.map((type) => ofSchema({ ...schema, type })));
  switch (schema.type) {
    case 'string':
      return fc.string({ unit: 'grapheme', maxLength: 8 });
    case 'number':
      return fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }));
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.array(ofSchema(schema.items ?? {}), { maxLength: 3 });
    case 'object': {
      const { properties, additionalProperties } = schema;
      if (!properties && typeof additionalProperties === 'object') {
        return fc.dictionary(fc.string({ maxLength: 6 }), ofSchema(additionalProperties), { maxKeys: 3 });
      }
      const fields = Object.fromEntries(
        Object.entries(properties ?? {}).map(([name, field]) => [name, ofSchema(field)]),
      );
      const known = fc.record(fields, { requiredKeys: [...(schema.required ?? [])] });
      return fc.tuple(known, unknownFields).map(([named, more]) => ({ ...named, ...more }));
    }
    default:
      return anyJson;
  }
}

/** Values that match a schema. They have only values of JSON, and unknown fields on every level. */
export function arbitraryOf(schema: ZodType): fc.Arbitrary<unknown> {
  return ofSchema(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema).map((value) =>
    // JSON cannot express some values, such as -0, so they are replaced by the values that JSON makes of them.
    JSON.parse(JSON.stringify(value)),
  );
}
