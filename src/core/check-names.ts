import { mayHoldSecret } from './connections/secret.js';
import { generatedNames } from './generated-names.js';
import type { RunBounds } from './row-job-schemas.js';
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
  /** The values in a few words, for messages. */
  readonly must?: string;
}

export const runBoundNames = generatedNames.runBounds.split(' ') as (keyof RunBounds)[];

/** `requests`: fields that hold the request of an operation. `bounds`: fields of a job that must not be inside the request. */
const requests: readonly string[] = ['options', 'request', 'template'];
export const bounds: readonly string[] = [...runBoundNames, 'refreshAfterMs', 'retryFailed', 'limit'];
/** Maximum number of problems that are reported. */
const MOST_PROBLEMS = 10;
/** Maximum number of characters that are shown of a value or name. */
const MOST_SHOWN = 60;

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
  const check = new NameCheck(name, true);
  check.value(request, schema, '', elsewhere);
  return check.problems.map((message, index) => ({ field: check.fields[index] ?? '', message }));
}

/** The check of the names and known values in a value; `problems` are sentences. Types are not checked. */
export class NameCheck {
  readonly problems: string[] = [];
  /** The path of the field of each problem. */
  readonly fields: string[] = [];
  /** Number of problems above the maximum of reported problems. */
  more = 0;

  constructor(
    readonly workflow: string,
    readonly strict: boolean,
    /** Whether types are checked; otherwise the names of open objects and misspelt values are. */
    protected readonly types = false,
  ) {}

  /** `elsewhere`: fields that must not be in this value, because they belong to the enclosing value or to the second argument. */
  value(value: unknown, schema: InputSchema, path: string, elsewhere: readonly string[] = []): void {
    const branches = schema.anyOf ?? schema.oneOf;
    if (branches) {
      const meant = branchOf(value, branches, (all, first) => this.merged(all, first));
      if (meant) this.value(value, meant, path, elsewhere);
      else this.wrong(value, schema, path);
    } else if (!this.fits(value, schema)) this.wrong(value, schema, path);
    else if (typeof value === 'string') this.#misspeltValue(value, schema, path);
    else if (Array.isArray(value)) {
      const { items } = schema;
      if (items) for (const [index, item] of value.entries()) this.value(item, items, `${path}[${index}]`);
    } else if (isObject(value)) this.object(value, schema, path, elsewhere);
  }

  protected object(value: Fields, schema: InputSchema, path: string, elsewhere: readonly string[]): void {
    const { properties = {}, additionalProperties } = schema;
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
          this.report(full, () =>
            requests.includes(path)
              ? `${full} belongs beside ${path}, as ${other}.`
              : `${full} belongs to the options, the second argument of ${this.workflow}, as ${other}.`,
          );
        else if (additionalProperties?.type || additionalProperties?.anyOf) this.value(own, additionalProperties, full);
      }
    }
  }

  /** Reports an unknown field without its value, which may be a secret. */
  #unknown(field: string, full: string, path: string, known: readonly string[]): void {
    if (!this.strict) return;
    this.report(full, () => {
      const near = misspelt(short(field), known) ?? nearest(short(field), known);
      const help = near === null ? `its fields are ${known.join(', ')}.` : `did you mean ${pathOf(path, near)}?`;
      return `${full} is not a field of ${path === '' ? this.workflow : path}; ${help}`;
    });
  }

  #misspeltValue(value: string, { examples = [] }: InputSchema, path: string): void {
    const meant = this.types || examples.includes(value) ? null : misspelt(value, examples);
    if (meant !== null) this.report(path, () => `${path} is ${shown(value, {})}; did you mean ${meant}?`);
  }

  protected fits(value: unknown, schema: InputSchema): boolean {
    return isOfType(value, schema);
  }

  /** The branch for a value that fits the constants of none. */
  protected merged(_branches: readonly InputSchema[], first: InputSchema): InputSchema {
    return first;
  }

  protected wrong(_value: unknown, _schema: InputSchema, _path: string): void {}

  protected report(field: string, sentence: () => string): void {
    if (this.problems.length >= MOST_PROBLEMS) this.more++;
    else {
      this.problems.push(sentence());
      this.fields.push(field);
    }
  }
}

export type Fields = { readonly [field: string]: unknown };

export const pathOf = (path: string, field: string): string => (path === '' ? field : `${path}.${field}`);
export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Returns the branch of a union that a value is meant for, chosen by the type of the value, then by the constant fields of the value. Null
 * if no branch has the type.
 */
function branchOf(
  value: unknown,
  branches: readonly InputSchema[],
  merged: (branches: readonly InputSchema[], first: InputSchema) => InputSchema,
): InputSchema | null {
  const ofType = branches.filter((branch) => isOfType(value, branch));
  const [first] = ofType;
  if (ofType.length <= 1 || !first || !isObject(value)) return first ?? null;
  const isMeant = ({ properties = {}, required = [] }: InputSchema) =>
    Object.entries(properties).every(([field, { const: only }]) => {
      const isLeftOut = value[field] === undefined && !required.includes(field);
      return only === undefined || isLeftOut || value[field] === only;
    });
  return ofType.find(isMeant) ?? merged(ofType, first);
}

const types: { readonly [type: string]: (value: unknown) => boolean } = {
  null: (value) => value === null,
  array: Array.isArray,
  object: isObject,
  integer: Number.isSafeInteger,
  number: Number.isFinite,
  boolean: (value) => typeof value === 'boolean',
  string: (value) => typeof value === 'string',
};

export function isOfType(value: unknown, { type, const: only }: InputSchema): boolean {
  if (only !== undefined) return value === only;
  return type === undefined || types[type]?.(value) === true;
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
export function shown(value: unknown, { writeOnly = false }: InputSchema): string {
  if (writeOnly && value !== null && value !== undefined && value !== '') return 'a value that is not shown';
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (isObject(value)) return 'an object';
  if (typeof value !== 'string') return String(value);
  if (/:\/\/|@/.test(value) || mayHoldSecret(value)) return 'a text that is not shown';
  return `"${short(value)}"`;
}

const short = (text: string): string => (text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text);
