import { choose, mix } from './hash.js';
import { sentences } from './sentences.js';

type Schema = Readonly<Record<string, unknown>>;

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * A value that fits a JSON schema, by hash: the stand-in for what a model would extract.
 * Knows type, properties, items, enum, const and the first branch of anyOf and oneOf; text where a schema says nothing.
 */
export function schemaValue(schema: unknown, hash: number, depth = 0): unknown {
  if (!isSchema(schema) || depth > 12) return null;
  if ('const' in schema) return schema.const;
  const { enum: values, anyOf, oneOf, properties } = schema;
  if (Array.isArray(values) && values.length > 0) return choose(values, hash, 71);
  const branch = Array.isArray(anyOf) ? anyOf[0] : Array.isArray(oneOf) ? oneOf[0] : undefined;
  if (branch !== undefined) return schemaValue(branch, hash, depth + 1);
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === 'object' || isSchema(properties)) {
    const entries = Object.entries(isSchema(properties) ? properties : {});
    return Object.fromEntries(
      entries.map(([name, one], index) => [name, schemaValue(one, mix(hash, index), depth + 1)]),
    );
  }
  if (type === 'array') return [schemaValue(schema.items ?? { type: 'string' }, mix(hash, 72), depth + 1)];
  if (type === 'integer') return mix(hash, 73) % 1000;
  if (type === 'number') return (mix(hash, 74) % 100_000) / 100;
  if (type === 'boolean') return mix(hash, 75) % 2 === 0;
  return type === 'null' ? null : choose(sentences, hash, 76);
}
