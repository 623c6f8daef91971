import { choose, mix } from '../base/hash.js';
import { resolveSchema, type Schema } from './resolve-schema.js';
import { textFor } from './schema-text.js';

/** Rows of the request. Their values are used for output properties of the same name. */
export interface InputRows {
  readonly rows?: readonly Readonly<Record<string, unknown>>[];
}

interface Context {
  readonly root: unknown;
  readonly depth: number;
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly row: Readonly<Record<string, unknown>> | null;
}

/**
 * A value that matches a JSON schema, chosen by hash; it stands for the output of a model. Supported are types, bounds,
 * formats, simple patterns, enum, const, local references, allOf, and the first branch of anyOf and oneOf. A schema without a
 * type gives text. Below eight levels optional properties are left out.
 */
export function schemaValue(schema: unknown, hash: number, { rows = [] }: InputRows = {}): unknown {
  return makeValue(schema, hash, { root: schema, depth: 0, rows, row: null });
}

function makeValue(input: unknown, hash: number, context: Context): unknown {
  const schema = resolveSchema(input, context.root);
  if (schema === null || context.depth > 16) return input === true ? choose(['true', 'yes'], hash, 70) : null;
  if ('const' in schema) return schema.const;
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return choose(schema.enum, hash, 71);
  const type = typeOf(schema);
  if (type === 'object') return objectOf(schema, hash, context);
  if (type === 'array') return arrayOf(schema, hash, context);
  if (type === 'integer' || type === 'number') return numberOf(schema, type === 'integer', hash);
  if (type === 'boolean') return mix(hash, 75) % 2 === 0;
  return type === 'null' ? null : textFor(schema, hash);
}

function typeOf(schema: Schema): unknown {
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  const type = types.find((one) => one !== 'null') ?? types[0];
  if (type !== undefined) return type;
  if (['properties', 'required', 'minProperties', 'patternProperties'].some((name) => name in schema)) return 'object';
  if ('items' in schema || 'prefixItems' in schema) return 'array';
  return 'minimum' in schema || 'maximum' in schema ? 'number' : undefined;
}

function objectOf(schema: Schema, hash: number, context: Context): unknown {
  const properties = (schema.properties ?? {}) as Record<string, unknown>;
  const required = Array.isArray(schema.required) ? schema.required.map(String) : [];
  const rest = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : { type: 'string' };
  const names = new Set(context.depth > 8 ? required : [...Object.keys(properties), ...required]);
  for (let extra = 1; names.size < (whole(schema.minProperties) ?? 0); extra += 1) names.add(`extra_${extra}`);
  const schemaOf = (name: string): unknown => properties[name] ?? patternSchema(schema, name) ?? rest;
  return Object.fromEntries(
    [...names].map((name, index) => {
      const one = schemaOf(name);
      const known = context.row?.[name];
      const value = fits(known, resolveSchema(one, context.root))
        ? known
        : makeValue(one, mix(hash, index), { ...context, depth: context.depth + 1 });
      return [name, value];
    }),
  );
}

function patternSchema({ patternProperties }: Schema, name: string): unknown {
  const patterns = Object.entries((patternProperties ?? {}) as Record<string, unknown>);
  return patterns.find(([pattern]) => new RegExp(pattern, 'u').test(name))?.[1];
}

/** Whether a value of the input can be used for a property: the value has the type of the property, and the schema has no other bounds. */
function fits(value: unknown, schema: Schema | null): boolean {
  if (value === undefined || value === null || schema === null) return false;
  const names = new Set(Object.keys(schema));
  for (const harmless of ['type', 'description', 'title']) names.delete(harmless);
  return names.size === 0 && typeof value === (schema.type === 'integer' ? 'never' : schema.type);
}

function arrayOf(schema: Schema, hash: number, context: Context): unknown {
  const first = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
  const least = whole(schema.minItems) ?? 0;
  const most = whole(schema.maxItems) ?? Number.POSITIVE_INFINITY;
  const isOfRows = context.rows.length > 0 && context.row === null;
  const wanted = Math.max(least, isOfRows ? context.rows.length : context.depth > 8 ? 0 : 1 + (mix(hash, 77) % 3));
  const length = Math.min(most, Math.max(wanted, Math.min(first.length, most)));
  const items = Array.from({ length }, (_, index) =>
    makeValue(first[index] ?? schema.items ?? { type: 'string' }, mix(mix(hash, 72), index), {
      ...context,
      depth: context.depth + 1,
      row: isOfRows ? (context.rows[index] ?? null) : context.row,
    }),
  );
  if (schema.uniqueItems !== true) return items;
  const distinct = new Map(items.map((one) => [JSON.stringify(one), one]));
  const values = resolveSchema(schema.items, context.root)?.enum;
  // The values of an enum are taken in order, so that as few as possible are repeated.
  if (Array.isArray(values)) return values.slice(0, Math.max(least, distinct.size));
  return [...distinct.values()];
}

function numberOf(schema: Schema, isWhole: boolean, hash: number): number {
  const step = number(schema.multipleOf) ?? (isWhole ? 1 : 0.01);
  const bound = (inclusive: unknown, exclusive: unknown, by: number) => {
    const over = number(exclusive);
    return over === undefined ? number(inclusive) : over + by;
  };
  const least = bound(schema.minimum, schema.exclusiveMinimum, step);
  const most = bound(schema.maximum, schema.exclusiveMaximum, -step);
  const from = Math.ceil((least ?? Math.min(0, most ?? 0)) / step);
  const to = Math.floor((most ?? Math.max(from * step, 0) + 1000 * (isWhole ? step : 1)) / step);
  const value = (from + (mix(hash, 73) % (Math.max(0, to - from) + 1))) * step;
  return isWhole ? Math.round(value) : Number(value.toFixed(10));
}

function whole(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) ? value : undefined;
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
