/** A JSON schema that is an object. */
export type Schema = Readonly<Record<string, unknown>>;

export function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * The schema without indirection: references are followed, `allOf` is merged, and the first branch of `anyOf` and `oneOf` is
 * chosen. Null if the input is not a schema.
 */
export function resolveSchema(input: unknown, root: unknown, depth = 0): Schema | null {
  if (!isSchema(input) || depth > 16) return null;
  const { $ref: reference, allOf, anyOf, oneOf, ...rest } = input;
  const parts: unknown[] = [];
  if (typeof reference === 'string') parts.push(pointed(reference, root));
  if (Array.isArray(allOf)) parts.push(...allOf);
  if (Array.isArray(anyOf)) parts.push(anyOf.find(isNotNull) ?? anyOf[0]);
  if (Array.isArray(oneOf)) parts.push(oneOf.find(isNotNull) ?? oneOf[0]);
  let schema: Schema = rest;
  for (const part of parts) {
    const one = resolveSchema(part, root, depth + 1);
    if (one) schema = merge(one, schema);
  }
  return schema;
}

function isNotNull(schema: unknown): boolean {
  return !isSchema(schema) || schema.type !== 'null';
}

/** Target of a local reference such as `#/$defs/company`. */
export function pointed(reference: string, root: unknown): unknown {
  if (!reference.startsWith('#')) return undefined;
  let at: unknown = root;
  for (const step of reference.slice(1).split('/').slice(1)) {
    const name = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
    at = isSchema(at) || Array.isArray(at) ? (at as Record<string, unknown>)[name] : undefined;
  }
  return at;
}

function merge(left: Schema, right: Schema): Schema {
  const properties = { ...objectAt(left, 'properties'), ...objectAt(right, 'properties') };
  const required = [...listAt(left, 'required'), ...listAt(right, 'required')];
  return {
    ...left,
    ...right,
    ...(Object.keys(properties).length > 0 ? { properties } : {}),
    ...(required.length > 0 ? { required } : {}),
  };
}

function objectAt(schema: Schema, name: string): Schema {
  return isSchema(schema[name]) ? schema[name] : {};
}

function listAt(schema: Schema, name: string): readonly unknown[] {
  return Array.isArray(schema[name]) ? schema[name] : [];
}
