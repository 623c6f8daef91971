import { choose, mix, sentences, toUuid } from '../base/sentences.js';

type Rows = readonly Readonly<Record<string, unknown>>[];

interface Context {
  readonly root: unknown;
  readonly depth: number;
  readonly rows: Rows;
  readonly row: Rows[number] | null;
}

/**
 * A value that matches a JSON schema, chosen by hash; it stands for the output of a model. Supported are types, bounds, formats, simple
 * patterns, enum, const, local references, allOf, and the first branch of anyOf and oneOf. A schema without a type gives text. Below eight
 * levels optional properties are left out. `rows`: rows of the request, whose values are used for properties of the same name.
 */
export function schemaValue(schema: unknown, hash: number, rows: Rows = []): unknown {
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
  const properties = objectAt(schema, 'properties');
  const patterns = Object.entries(objectAt(schema, 'patternProperties'));
  const required = listAt(schema, 'required').map(String);
  const rest = isSchema(schema.additionalProperties) ? schema.additionalProperties : { type: 'string' };
  const names = new Set(context.depth > 8 ? required : [...Object.keys(properties), ...required]);
  for (let extra = 1; names.size < (numberAt(schema, 'minProperties') ?? 0); extra += 1) names.add(`extra_${extra}`);
  const propertyOf = (name: string, index: number) => {
    const matching = patterns.find(([pattern]) => new RegExp(pattern, 'u').test(name));
    const part = properties[name] ?? matching?.[1] ?? rest;
    const known = context.row?.[name];
    if (fits(known, resolveSchema(part, context.root))) return known;
    return makeValue(part, mix(hash, index), { ...context, depth: context.depth + 1 });
  };
  return Object.fromEntries([...names].map((name, index) => [name, propertyOf(name, index)]));
}

const harmless = ['type', 'description', 'title'];

/** Whether a value of the input can be used for a property: the value has the type of the property, and the schema has no other bounds. */
function fits(value: unknown, schema: Schema | null): boolean {
  if (value === null || schema === null || typeof value !== schema.type) return false;
  return Object.keys(schema).every((name) => harmless.includes(name));
}

function arrayOf(schema: Schema, hash: number, context: Context): unknown {
  const first = listAt(schema, 'prefixItems');
  const least = numberAt(schema, 'minItems') ?? 0;
  const most = numberAt(schema, 'maxItems') ?? Number.POSITIVE_INFINITY;
  const isOfRows = context.rows.length > 0 && context.row === null;
  const wanted = Math.max(least, isOfRows ? context.rows.length : context.depth > 8 ? 0 : 1 + (mix(hash, 77) % 3));
  const length = Math.min(most, Math.max(wanted, Math.min(first.length, most)));
  const items = Array.from({ length }, (_, index) => {
    const row = isOfRows ? (context.rows[index] ?? null) : context.row;
    const part = first[index] ?? schema.items ?? { type: 'string' };
    return makeValue(part, mix(mix(hash, 72), index), { ...context, depth: context.depth + 1, row });
  });
  return schema.uniqueItems === true ? [...new Map(items.map((one) => [JSON.stringify(one), one])).values()] : items;
}

function numberOf(schema: Schema, isWhole: boolean, hash: number): number {
  const step = numberAt(schema, 'multipleOf') ?? (isWhole ? 1 : 0.01);
  const [above, below] = [numberAt(schema, 'exclusiveMinimum'), numberAt(schema, 'exclusiveMaximum')];
  const least = above === undefined ? numberAt(schema, 'minimum') : above + step;
  const most = below === undefined ? numberAt(schema, 'maximum') : below - step;
  const from = Math.ceil((least ?? Math.min(0, most ?? 0)) / step);
  const to = Math.floor((most ?? Math.max(from * step, 0) + 1000 * (isWhole ? step : 1)) / step);
  const value = (from + (mix(hash, 73) % (Math.max(0, to - from) + 1))) * step;
  return isWhole ? Math.round(value) : Number(value.toFixed(10));
}

const day = (hash: number) => new Date(Date.UTC(2015, 0, 1) + (mix(hash, 78) % 3650) * 86_400_000).toISOString();
const word = (hash: number) => choose(['harbour', 'northwind', 'archive', 'field', 'radio', 'winter'], hash, 79);
const number = (hash: number, below = 1000) => mix(hash, 80) % below;
const digits = (hash: number, salt: number) => mix(hash, salt).toString(16).padStart(8, '0');
const uri = (hash: number) => `https://${word(hash)}-${number(hash)}.example/`;
const email = (hash: number) => `${word(hash)}@site-${number(hash)}.example`;

const formats: Readonly<Record<string, (hash: number) => string>> = {
  uri,
  url: uri,
  'uri-reference': (hash) => `/${word(hash)}`,
  email,
  'idn-email': email,
  date: (hash) => day(hash).slice(0, 10),
  'date-time': day,
  time: (hash) => day(hash).slice(11),
  duration: (hash) => `P${1 + number(hash, 30)}D`,
  uuid: (hash) => toUuid([501, 502, 503, 504].map((salt) => digits(hash, salt)).join('')),
  hostname: (hash) => `${word(hash)}-${number(hash)}.example`,
  ipv4: (hash) => `192.0.2.${number(hash, 256)}`,
  ipv6: (hash) => `2001:db8::${number(hash, 65_536).toString(16)}`,
};

/** Text that matches a schema: its format or simple pattern, and its length, which is counted in letters. */
function textFor(schema: Schema, hash: number): string {
  const format = typeof schema.format === 'string' ? formats[schema.format] : undefined;
  if (format) return format(hash);
  const pattern = typeof schema.pattern === 'string' ? patternText(schema.pattern, hash) : null;
  if (pattern !== null) return pattern;
  const least = numberAt(schema, 'minLength') ?? 0;
  const most = numberAt(schema, 'maxLength') ?? Number.POSITIVE_INFINITY;
  let letters = [...choose(sentences, hash, 76)];
  while (letters.length < least) letters = [...letters, ' ', ...choose(sentences, mix(hash, letters.length), 76)];
  return letters.slice(0, Math.max(least, Math.min(letters.length, most))).join('');
}

/** A letter, an escaped letter or a class of letters, and how often it occurs. */
const token = /(\\.|\[[^\]]+\]|.)(?:\{(\d+)[\d,]*\}|([*+?]))?/g;
const classes: Readonly<Record<string, string>> = { '\\d': '0123456789', '\\w': 'abcdefgh', '\\s': ' ', '.': 'a' };

/** Text for a pattern of letters, classes and counts, such as `^[A-Z]{2}-\d+$`; null for any other pattern. */
function patternText(pattern: string, hash: number): string | null {
  let text = '';
  for (const [, atom = '', count, sign] of pattern.replace(/^\^|\$$/g, '').matchAll(token)) {
    const letters = atom.startsWith('[') ? members(atom.slice(1, -1)) : (classes[atom] ?? atom.slice(-1));
    const times = Number(count ?? (sign === '?' ? 0 : 1));
    for (let one = 0; one < times; one += 1) text += letters[mix(hash, text.length + 600) % letters.length];
  }
  return new RegExp(pattern).test(text) ? text : null;
}

/** The letters of a class, with all letters of its ranges. */
function members(list: string): string {
  return list.replace(/(.)-(.)/g, (_, from: string, to: string) => {
    const first = from.charCodeAt(0);
    const length = Math.max(0, to.charCodeAt(0) - first + 1);
    return String.fromCharCode(...Array.from({ length }, (_one, index) => first + index));
  });
}

/** A JSON schema that is an object. */
type Schema = Readonly<Record<string, unknown>>;

export function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * The schema without indirection: references are followed, `allOf` is merged, and the first branch of `anyOf` and `oneOf` is
 * chosen. Null if the input is not a schema.
 */
function resolveSchema(input: unknown, root: unknown, depth = 0): Schema | null {
  if (!isSchema(input) || depth > 16) return null;
  const { $ref: reference, allOf, anyOf, oneOf, ...rest } = input;
  const firstOf = (name: string) => listAt(input, name).find((one) => !isSchema(one) || one.type !== 'null');
  const target = typeof reference === 'string' ? pointed(reference, root) : undefined;
  const parts = [target, ...listAt(input, 'allOf'), firstOf('anyOf'), firstOf('oneOf')];
  return parts.reduce((schema: Schema, part) => merge(resolveSchema(part, root, depth + 1) ?? {}, schema), rest);
}

/** Target of a local reference such as `#/$defs/company`. */
function pointed(reference: string, root: unknown): unknown {
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
  const merged: Record<string, unknown> = { ...left, ...right };
  if (Object.keys(properties).length > 0) merged.properties = properties;
  return required.length > 0 ? { ...merged, required } : merged;
}

function objectAt(schema: Schema, name: string): Schema {
  return isSchema(schema[name]) ? schema[name] : {};
}

function numberAt(schema: Schema, name: string): number | undefined {
  const value = schema[name];
  return typeof value === 'number' ? value : undefined;
}

function listAt(schema: Schema, name: string): readonly unknown[] {
  return Array.isArray(schema[name]) ? schema[name] : [];
}

const types = new Set<unknown>(['object', 'array', 'string', 'integer', 'number', 'boolean', 'null']);
const bounds = { minItems: 'maxItems', minLength: 'maxLength', minimum: 'maximum', minProperties: 'maxProperties' };

/** Keywords that the sandbox does not support. A schema with such a keyword is refused; the keyword is not ignored. */
const unmade = ['not', 'if', 'contains', 'dependentRequired', 'dependentSchemas', 'propertyNames'];

/** The mistakes of a schema: the place of each, its condition, and the message. */
const mistakes: readonly (readonly [at: string, is: (schema: Schema, root: unknown) => boolean, why: string])[] = [
  ['/type', ({ type }) => type !== undefined && ![type].flat().every((one) => types.has(one)), 'no such type'],
  ...unmade.map(
    (name) => [`/${name}`, (schema: Schema) => schema[name] !== undefined, 'cannot be satisfied here'] as const,
  ),
  [
    '/patternProperties',
    (schema) => !Object.keys(objectAt(schema, 'patternProperties')).every(isPattern),
    'not a regular expression',
  ],
  ['', isClosedTooEarly, 'minProperties is above the number of properties'],
  ...Object.entries(bounds).map(([least, most]) => {
    const isWrong = (schema: Schema) =>
      Number(schema[least] ?? Number.NEGATIVE_INFINITY) > Number(schema[most] ?? Number.POSITIVE_INFINITY);
    return ['', isWrong, `${least} is above ${most}`] as const;
  }),
  ['/enum', (schema) => schema.enum !== undefined && listAt(schema, 'enum').length === 0, 'empty'],
  ['/required', ({ required }) => required !== undefined && !isNames(required), 'not a list of names'],
  ['/properties', ({ properties }) => properties !== undefined && !isSchema(properties), 'not an object'],
  ['/$ref', ({ $ref }, root) => typeof $ref === 'string' && pointed($ref, root) === undefined, 'nothing is there'],
];

function isClosedTooEarly(schema: Schema): boolean {
  const isClosed = schema.additionalProperties === false && schema.patternProperties === undefined;
  return isClosed && (numberAt(schema, 'minProperties') ?? 0) > Object.keys(objectAt(schema, 'properties')).length;
}

function isNames(value: unknown): boolean {
  return Array.isArray(value) && value.every((name) => typeof name === 'string');
}

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}

/**
 * The first mistake in a JSON schema, with the path of the mistake: a part is not a schema, or no value can match the part. Null if there
 * is no mistake.
 */
export function schemaProblem(schema: unknown, root: unknown = schema, path = '#', depth = 0): string | null {
  if (schema === true || depth > 64) return null;
  if (!isSchema(schema)) return `${path}: not a schema`;
  const mistake = mistakes.find(([, is]) => is(schema, root));
  if (mistake) return `${path}${mistake[0]}: ${mistake[2]}`;
  for (const [name, part] of partsOf(schema)) {
    const problem = schemaProblem(part, root, `${path}/${name}`, depth + 1);
    if (problem !== null) return problem;
  }
  return null;
}

function* partsOf(schema: Schema): Iterable<readonly [path: string, part: unknown]> {
  for (const name of ['properties', 'patternProperties', '$defs', 'definitions']) {
    for (const [key, part] of Object.entries(objectAt(schema, name))) yield [`${name}/${key}`, part];
  }
  for (const name of ['allOf', 'anyOf', 'oneOf', 'prefixItems']) {
    for (const [index, part] of listAt(schema, name).entries()) yield [`${name}/${index}`, part];
  }
  for (const name of ['items', 'additionalProperties']) if (isSchema(schema[name])) yield [name, schema[name]];
}
