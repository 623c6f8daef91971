import { mayHoldSecret } from './connections/secret.js';
import { misspelt, nearest, sameName } from './text/nearest.js';

/** The part of JSON Schema that describes inputs of workflows. */
export interface InputSchema {
  readonly type?: string;
  readonly properties?: { readonly [field: string]: InputSchema };
  readonly required?: readonly string[];
  readonly additionalProperties?: false | InputSchema;
  readonly items?: InputSchema;
  readonly anyOf?: readonly InputSchema[];
  readonly oneOf?: readonly InputSchema[];
  readonly enum?: readonly (string | boolean)[];
  /** Known values of a text. Other texts are accepted, except misspelt known values. */
  readonly examples?: readonly string[];
  readonly const?: string | boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly format?: string;
  readonly pattern?: string;
  /** Whether the value is a secret, which no message shows. */
  readonly writeOnly?: boolean;
  /** The meaning of the pattern, in a few words. */
  readonly description?: string;
}

/** `requests`: fields that hold the request of an operation. `bounds`: fields of a job that must not be inside the request. */
const requests: readonly string[] = ['options', 'request', 'template'];
export const bounds: readonly string[] = [
  'maxCostDollars',
  'maxRunSeconds',
  'refreshAfterMs',
  'retryFailed',
  'skipRefused',
  'stopAtFailed',
  'acceptWarnings',
  'limit',
];
/** Why a value is too large, as the end of a sentence; null if it is not. Default: the limit of a request, which each activity of a job gets. */
export function whyTooLarge(value: unknown, mostKb = 256): string | null {
  const bytes = encodeURIComponent(JSON.stringify(value) ?? '').replace(/%../g, '.').length;
  const kb = Math.ceil(bytes / 1024);
  return kb <= mostKb ? null : `has ${kb} KB as JSON; ${mostKb} KB is the limit. Shorten its schema, texts or lists`;
}

/** Maximum number of problems that are reported. */
const MOST_PROBLEMS = 10;
/** Maximum number of characters that are shown of a value or name. */
const MOST_SHOWN = 60;

/** Returns the problems of one value, one sentence for each field; `name` is the name of the value. Unknown fields are problems. Pure. */
export function schemaProblems(name: string, value: unknown, schema: InputSchema): readonly string[] {
  const check = new Check(name, true);
  check.value(value, schema, '');
  return check.problems;
}

/**
 * Returns the problems of a request whose rows fill in some fields: misspelt names of fields, at any depth, and misspelt values. Other
 * unknown fields may be new fields of the service, and are no problems. `elsewhere`: fields of the options, the second argument. Pure.
 */
export function misspellings(
  name: string,
  request: unknown,
  schema: InputSchema,
  elsewhere: readonly string[] = [],
): readonly { readonly field: string; readonly message: string }[] {
  const check = new Check(name, true, false);
  check.value(request, schema, '', elsewhere);
  return check.problems.map((message, index) => ({ field: check.fields[index] ?? '', message }));
}

/** The check of one value against its schema; `problems` are sentences. */
export class Check {
  readonly problems: string[] = [];
  /** The path of the field of each problem. */
  readonly fields: string[] = [];
  /** Number of problems above the maximum of reported problems. */
  more = 0;

  constructor(
    readonly workflow: string,
    readonly strict: boolean,
    /** False: the names of open objects and misspelt values are checked instead of types. */
    readonly types = true,
  ) {}

  /** `elsewhere`: fields that must not be in this value, because they belong to the enclosing value or to the second argument. */
  value(value: unknown, schema: InputSchema, path: string, elsewhere: readonly string[] = []): void {
    const branches = schema.anyOf ?? schema.oneOf;
    if (branches) {
      const meant = branchOf(value, branches);
      if (meant) this.value(value, meant, path, elsewhere);
      else this.#wrong(value, schema, path);
    } else if (!isOfType(value, schema) || !isInRange(value, schema)) this.#wrong(value, schema, path);
    else if (typeof value === 'string') this.#misspeltValue(value, schema, path);
    else if (Array.isArray(value)) {
      const { items } = schema;
      if (items) for (const [index, item] of value.entries()) this.value(item, items, `${path}[${index}]`);
    } else if (isObject(value)) this.#object(value, schema, path, elsewhere);
  }

  #object(value: Fields, schema: InputSchema, path: string, elsewhere: readonly string[]): void {
    const { properties = {}, required = [], additionalProperties } = schema;
    const known = Object.keys(properties);
    for (const [field, own] of Object.entries(value)) {
      const full = pathOf(path, shownName(field, known));
      // A request accepts any field, so a bound of the job inside the request would be ignored.
      const beside = path === '' && requests.includes(field) ? known.filter((name) => bounds.includes(name)) : [];
      if (own === undefined) continue;
      if (Object.hasOwn(properties, field)) this.value(own, properties[field] as InputSchema, full, beside);
      else if (additionalProperties === false) this.#unknown(field, full, path, known);
      else {
        const meant = misspelt(field, known);
        const other = misspelt(field, elsewhere);
        if (meant && !this.types) this.#unknown(field, full, path, [meant]);
        else if (this.strict && other && (!this.types || sameName(other, field)))
          this.#report(full, () =>
            requests.includes(path)
              ? `${full} belongs beside ${path}, as ${other}.`
              : `${full} belongs to the options, the second argument of ${this.workflow}, as ${other}.`,
          );
        else if (additionalProperties?.type || additionalProperties?.anyOf) this.value(own, additionalProperties, full);
      }
    }
    if (!this.types) return;
    for (const field of required)
      if (value[field] === undefined)
        this.#report(
          field,
          () => `${pathOf(path, field)} is missing; it must be ${phraseOf(properties[field] ?? {})}.`,
        );
  }

  /** Reports an unknown field without its value, which may be a secret. */
  #unknown(field: string, full: string, path: string, known: readonly string[]): void {
    if (!this.strict) return;
    this.#report(full, () => {
      const near = misspelt(short(field), known) ?? nearest(short(field), known);
      const help = near === null ? `its fields are ${known.join(', ')}.` : `did you mean ${pathOf(path, near)}?`;
      return `${full} is not a field of ${path === '' ? this.workflow : path}; ${help}`;
    });
  }

  #misspeltValue(value: string, { examples = [] }: InputSchema, path: string): void {
    const meant = this.types || examples.includes(value) ? null : misspelt(value, examples);
    if (meant !== null) this.#report(path, () => `${path} is ${shown(value, {})}; did you mean ${meant}?`);
  }

  #wrong(value: unknown, schema: InputSchema, path: string): void {
    if (!this.types) return;
    this.#report(
      path,
      () => `${path === '' ? 'The input' : path} must be ${phraseOf(schema)} (got ${shown(value, schema)}).`,
    );
  }

  #report(field: string, sentence: () => string): void {
    if (this.problems.length >= MOST_PROBLEMS) this.more++;
    else {
      this.problems.push(sentence());
      this.fields.push(field);
    }
  }
}

type Fields = { readonly [field: string]: unknown };

const pathOf = (path: string, field: string): string => (path === '' ? field : `${path}.${field}`);
const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Returns the branch of a union that a value is meant for, chosen by the type of the value, then by the constant fields of the value. Null
 * if no branch has the type.
 */
function branchOf(value: unknown, branches: readonly InputSchema[]): InputSchema | null {
  const ofType = branches.filter((branch) => isOfType(value, branch));
  const [first] = ofType;
  if (ofType.length <= 1 || !first || !isObject(value)) return first ?? null;
  const isMeant = ({ properties = {}, required = [] }: InputSchema) =>
    Object.entries(properties).every(([field, { const: only }]) => {
      const isLeftOut = value[field] === undefined && !required.includes(field);
      return only === undefined || isLeftOut || value[field] === only;
    });
  return ofType.find(isMeant) ?? withAllValues(ofType, first);
}

/** Returns a branch that accepts the constants of all branches, so that the message names all constants. */
function withAllValues(branches: readonly InputSchema[], first: InputSchema): InputSchema {
  const properties = Object.entries(first.properties ?? {}).map(([field, schema]): [string, InputSchema] => {
    if (schema.const === undefined) return [field, schema];
    const all = branches.map((branch) => branch.properties?.[field]?.const).filter((one) => one !== undefined);
    return [field, { type: 'string', enum: all }];
  });
  // Only the constants are checked here: the other fields depend on the branch.
  const shared = properties.map(([field, schema]): [string, InputSchema] => [field, schema.enum ? schema : {}]);
  return { ...first, properties: Object.fromEntries(shared) };
}

/** Whether a value is of a type of JSON Schema. */
const types: { readonly [type: string]: (value: unknown) => boolean } = {
  null: (value) => value === null,
  array: Array.isArray,
  object: isObject,
  integer: Number.isSafeInteger,
  number: Number.isFinite,
  boolean: (value) => typeof value === 'boolean',
  string: (value) => typeof value === 'string',
};

function isOfType(value: unknown, { type, const: only }: InputSchema): boolean {
  if (only !== undefined) return value === only;
  return type === undefined || types[type]?.(value) === true;
}

function isInRange(value: unknown, schema: InputSchema): boolean {
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema;
  const { exclusiveMinimum = Number.NEGATIVE_INFINITY, minLength = 0, maxLength, format, pattern } = schema;
  if (typeof value === 'number') return value >= minimum && value <= maximum && value > exclusiveMinimum;
  if (Array.isArray(value)) return value.length >= (schema.minItems ?? 0);
  if (typeof value !== 'string') return true;
  if (schema.enum) return schema.enum.includes(value);
  if (value.length < minLength || (maxLength !== undefined && value.length > maxLength)) return false;
  if (pattern !== undefined && !new RegExp(pattern, 'u').test(value)) return false;
  return format !== 'date-time' || isDateTime(value);
}

/** Whether a text is an existing day in ISO 8601, or a time on an existing day with a time zone. */
function isDateTime(value: string): boolean {
  const [, day] = /^(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/.exec(value) ?? [];
  if (day === undefined || Number.isNaN(Date.parse(value))) return false;
  // `Date` reads 2026-02-31 as a day of the next month.
  return new Date(day).toISOString().startsWith(day);
}

/** The values that a schema accepts: `a whole number from 1 to 100`. */
export function phraseOf(schema: InputSchema): string {
  const { type, enum: values, const: only, minimum, maximum, exclusiveMinimum } = schema;
  const { minLength = 0, maxLength, minItems = 0, items, format, pattern, description } = schema;
  const branches = schema.anyOf ?? schema.oneOf;
  if (branches) return [...new Set(branches.map(phraseOf))].join(' or ');
  if (only !== undefined) return JSON.stringify(only);
  if (values) return `one of ${values.join(', ')}`;
  if (type !== 'string' && description !== undefined) return description;
  const range =
    minimum !== undefined && maximum !== undefined
      ? ` from ${minimum} to ${maximum}`
      : minimum !== undefined
        ? ` of at least ${minimum}`
        : exclusiveMinimum !== undefined
          ? ` above ${exclusiveMinimum}`
          : '';
  switch (type) {
    case 'integer':
      return `a whole number${range}`;
    case 'number':
      return `a number${range}`;
    case 'string':
      if (format === 'date-time') return 'a date such as 2025-01-31T00:00:00Z';
      if (pattern !== undefined && description !== undefined) return description;
      if (maxLength === 1) return 'one character';
      if (maxLength !== undefined) return `a text of ${minLength} to ${maxLength} characters`;
      return minLength > 0 ? 'a text that is not empty' : 'a text';
    case 'boolean':
      return 'true or false';
    case 'array':
      return `a list${minItems > 0 ? ' that is not empty' : ''}${items?.type === 'string' ? ' of texts' : ''}`;
    case 'object':
      return 'an object';
    default:
      return type ?? 'a value';
  }
}

/** Longest unknown name that is shown, unless it resembles a known name. Keys are longer, or have digits. */
const LONGEST_WORD = 20;

/** The name of a field for a message. A name is not shown if it may be a key in the wrong place. */
function shownName(field: string, known: readonly string[]): string {
  const isWord = field.length <= LONGEST_WORD && /^[a-z_-]+$/i.test(field);
  return isWord || known.includes(field) || nearest(short(field), known) !== null
    ? short(field)
    : 'a name that is not shown';
}

/** A wrong value as text for a message. An address is not shown, because it may hold a password. */
function shown(value: unknown, { writeOnly = false }: InputSchema): string {
  if (writeOnly && value !== null && value !== undefined && value !== '') return 'a value that is not shown';
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (isObject(value)) return 'an object';
  if (typeof value !== 'string') return String(value);
  if (/:\/\/|@/.test(value) || mayHoldSecret(value)) return 'a text that is not shown';
  return `"${short(value)}"`;
}

const short = (text: string): string => (text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text);
