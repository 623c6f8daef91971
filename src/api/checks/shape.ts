import { ZodObject, type ZodType, type z } from 'zod';
import { fieldOf } from './field-of.js';
import type { FieldProblem } from './fields.js';

/**
 * Whether a value has a shape. Callers use the value itself instead of zod's copy, so that field order and unknown fields stay.
 * Schemas have no transforms, so the types are the same.
 */
export function isShape<T>(schema: ZodType<T>, value: unknown): value is T {
  return isPlainShape(schema, value) || schema.safeParse(value).success;
}

/** Returns the first problem of a value, with the path of its field (`results[3].url`; empty for the whole value). */
export function shapeProblem(schema: ZodType, value: unknown): FieldProblem {
  let issue: z.core.$ZodIssue | undefined = schema.safeParse(value).error?.issues[0];
  const path: PropertyKey[] = [];
  // Of a union, the branch counts whose problem is inside the value.
  while (issue) {
    path.push(...issue.path);
    const inner: z.core.$ZodIssue | undefined =
      issue.code === 'invalid_union' ? issue.errors.flat().find((one) => one.path.length > 0) : undefined;
    if (!inner) return { field: nameOf(path), message: issue.message };
    issue = inner;
  }
  return { field: '', message: 'unexpected value' };
}

/** A field of an answer whose type differs from the schema, and the difference. */
export interface Misread {
  readonly path: readonly PropertyKey[];
  readonly message: string;
  /** Set where the entry of a list that holds the field is left out. */
  readonly isLost?: true;
}

/**
 * Returns misread fields as one line, for a row: `author: expected string, received array`. `from`: the number of path steps to
 * leave out.
 */
export function misreadText(misread: readonly Misread[], from = 0): string {
  const problems = misread.map(
    ({ path, message, isLost }) =>
      `${nameOf(path.slice(from)) || 'the whole'}: ${message}${isLost ? ' (the entry is left out)' : ''}`,
  );
  const more = problems.length - MAX_SHOWN;
  return problems.slice(0, MAX_SHOWN).join('; ') + (more > 0 ? `; and ${more} more` : '');
}

const MAX_SHOWN = 10;
/** The maximum number of rounds. Each round empties the fields that do not fit, or their parents. */
const MAX_ROUNDS = 20;

/**
 * Returns a copy of a value without the fields that do not fit the schema. Each field that does not fit becomes null, or empty if
 * the field cannot be null. If an empty value does not fit either, the parent of the field becomes null or empty; an entry of a list is
 * left out. `keepsPlaces`: an entry that is no object becomes an empty one, because its place in the list counts. Returns null where no such
 * copy fits.
 */
export function withoutMisfits<T>(
  schema: ZodType<T>,
  original: unknown,
  keepsPlaces: boolean,
): { readonly value: T; readonly misread: readonly Misread[] } | null {
  let misread: Misread[] | null = null;
  let value = original;
  const tries = new Map<string, number>();
  /** Containers that are already copies. */
  const own = new Set<unknown>();
  const lost: (readonly PropertyKey[])[] = [];
  const isLost = ({ path }: { readonly path: readonly PropertyKey[] }): boolean =>
    lost.some((entry) => entry.every((step, depth) => step === path[depth]));
  const empty = (path: readonly PropertyKey[], expected: string | null): boolean => {
    if (path.length === 0) return false;
    const key = JSON.stringify(path);
    const nth = tries.get(key) ?? 0;
    tries.set(key, nth + 1);
    const isOver = nth > 1 || (nth > 0 && expected === 'object' && !keepsPlaces);
    if (isOver && typeof path.at(-1) === 'number') return lost.push(path) > 0;
    if (nth > 0 && expected !== 'array' && expected !== 'object') return empty(path.slice(0, -1), null);
    if (nth > 1) return empty(path.slice(0, -1), null);
    value = replaced(value, path, nth === 0 ? null : expected === 'array' ? [] : {}, own);
    return true;
  };
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const issues = schema.safeParse(value).error?.issues.filter((issue) => !isLost(issue)) ?? [];
    misread ??= issues.map((issue) => ({ path: issue.path, message: plain(issue.message) }));
    for (const issue of issues) if (!isLost(issue) && !empty(issue.path, expectedBy(issue))) return null;
    if (issues.length > 0) continue;
    // The deepest and last entries first, so that the places of the others stay.
    for (const path of lost.sort((a, b) => b.length - a.length || Number(b.at(-1)) - Number(a.at(-1)))) {
      const list = path.slice(0, -1).reduce<unknown>((holder, step) => fieldOf(holder, String(step)), value);
      (list as unknown[]).splice(Number(path.at(-1)), 1);
    }
    if (lost.length > 0 && !schema.safeParse(value).success) return null;
    return { value: value as T, misread: misread.map((one) => (isLost(one) ? { ...one, isLost: true } : one)) };
  }
  return null;
}

function replaced(value: unknown, path: readonly PropertyKey[], other: unknown, own: Set<unknown>): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return other;
  if (typeof value !== 'object' || value === null) return value;
  const copy = (own.has(value) ? value : Array.isArray(value) ? [...value] : { ...value }) as Record<
    PropertyKey,
    unknown
  >;
  own.add(copy);
  copy[name] = replaced(copy[name], rest, other, own);
  return copy;
}

function expectedBy(issue: z.core.$ZodIssue): string | null {
  return issue.code === 'invalid_type' ? issue.expected : null;
}

const plain = (message: string): string => message.replace(/^Invalid input: /, '');

function nameOf(path: readonly PropertyKey[]): string {
  return path.reduce<string>((name, step) => {
    if (typeof step === 'number') return `${name}[${step}]`;
    return name === '' ? String(step) : `${name}.${String(step)}`;
  }, '');
}

/** Answers of the service and of many gateways have this field, so the field does not identify an answer. */
const COMMON = new Set(['requestId']);

/** Whether a value has at least one field of a schema, of any type. A value without any known field is not an answer of this kind. */
export function hasKnownField(schema: ZodType, value: unknown): boolean {
  const names = schema instanceof ZodObject ? Object.keys(schema.shape) : [];
  if (names.length === 0) return typeof value === 'object' && value !== null;
  return names.some((name) => !COMMON.has(name) && (fieldOf(value, name) ?? null) !== null);
}

type Check = (value: unknown) => boolean;

const checks = new WeakMap<ZodType, Check>();

/**
 * Whether a value certainly has a shape. Zod makes a copy of each value that it checks, which takes an eighth of the memory of an answer;
 * this check makes none. `false` says nothing: the schema has a part that this check does not know, or zod has to say what is wrong.
 */
export function isPlainShape(schema: ZodType, value: unknown): boolean {
  let check = checks.get(schema);
  if (check === undefined) {
    check = checkOf(schema);
    checks.set(schema, check);
  }
  return check(value);
}

const never: Check = () => false;

function checkOf(schema: ZodType): Check {
  const { def } = schema as unknown as { readonly def: z.core.$ZodTypes['_zod']['def'] };
  if (def.checks?.length) return never;
  switch (def.type) {
    case 'unknown':
    case 'any':
      // Zod decides whether such a field may be missing.
      return (value) => value !== undefined;
    case 'string':
      return 'format' in def ? never : (value) => typeof value === 'string';
    case 'number':
      return 'format' in def ? never : Number.isFinite;
    case 'boolean':
      return (value) => typeof value === 'boolean';
    case 'nullable': {
      const inner = checkOf(def.innerType as ZodType);
      return (value) => value === null || inner(value);
    }
    case 'optional': {
      const inner = checkOf(def.innerType as ZodType);
      return (value) => value === undefined || inner(value);
    }
    case 'array': {
      const element = checkOf(def.element as ZodType);
      return (value) => Array.isArray(value) && value.every(element);
    }
    case 'object':
      return ofObject(def);
    default:
      return never;
  }
}

function ofObject({ shape, catchall }: z.core.$ZodObjectDef): Check {
  if (catchall !== undefined && catchall._zod.def.type !== 'unknown') return never;
  const fields = Object.entries(shape).map(([name, field]) => ({ name, check: checkOf(field as ZodType) }));
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
    return fields.every(({ name, check }) => check((value as Readonly<Record<string, unknown>>)[name]));
  };
}
