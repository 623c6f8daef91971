import { ZodObject, type ZodType, type z } from 'zod';
import { fieldOf } from './field-of.js';

/**
 * Whether a value has a shape. The value itself is used afterwards, not zod's copy of it, so that field order and unknown
 * fields are exactly what came. Schemas have no transforms, which makes the two the same to the types.
 */
export function isShape<T>(schema: ZodType<T>, value: unknown): value is T {
  return schema.safeParse(value).success;
}

/** The first thing that is wrong with a value, with the path of its field (`results[3].url`; empty for the whole). */
export function shapeProblem(schema: ZodType, value: unknown): { readonly field: string; readonly message: string } {
  const issue = schema.safeParse(value).error?.issues[0];
  return issue
    ? { field: nameOf(issue.path), message: issue.message }
    : { field: '', message: 'not what was expected' };
}

/** A field of an answer that is not what the interface says, and what that is. */
export interface Misread {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** Such fields in one line, as a row tells them: `author: expected string, received array`. `from`: steps of their paths left out. */
export function misreadText(misread: readonly Misread[], from = 0): string {
  const said = misread.map(({ path, message }) => `${nameOf(path.slice(from)) || 'the whole'}: ${message}`);
  const more = said.length - MAX_SAID;
  return said.slice(0, MAX_SAID).join('; ') + (more > 0 ? `; and ${more} more` : '');
}

const MAX_SAID = 10;
/** A field is emptied, then what it is part of, up to the whole: so often at most. */
const MAX_ROUNDS = 20;

/**
 * The value without its fields that don't fit the schema: each is null there, or empty where it can't be null, or its parent is. The
 * value that was given stays as it is. Null where that mends nothing.
 */
export function withoutMisfits<T>(
  schema: ZodType<T>,
  given: unknown,
): { readonly value: T; readonly misread: readonly Misread[] } | null {
  let misread: Misread[] | null = null;
  let value = given;
  const tries = new Map<string, number>();
  /** Containers that are copies already. */
  const own = new Set<unknown>();
  const empty = (path: readonly PropertyKey[], expected: string | null): boolean => {
    if (path.length === 0) return false;
    const key = JSON.stringify(path);
    const nth = tries.get(key) ?? 0;
    tries.set(key, nth + 1);
    if (nth > 0 && expected !== 'array' && expected !== 'object') return empty(path.slice(0, -1), null);
    if (nth > 1) return empty(path.slice(0, -1), null);
    value = replaced(value, path, nth === 0 ? null : expected === 'array' ? [] : {}, own);
    return true;
  };
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const issues = schema.safeParse(value).error?.issues;
    if (!issues) return { value: value as T, misread: misread ?? [] };
    misread ??= issues.map((issue) => ({ path: issue.path, message: plain(issue.message) }));
    for (const issue of issues) if (!empty(issue.path, expectedBy(issue))) return null;
  }
  return null;
}

/** The value with another at this path, which stands in containers of ours. */
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

/** Every answer of the service has one, and so have those of many a gateway: it tells nothing. */
const TELLS_NOTHING = new Set(['requestId']);

/** Whether a value has any field of a schema, of whatever type: if not, it is nothing that the schema describes. */
export function hasKnownField(schema: ZodType, value: unknown): boolean {
  const names = schema instanceof ZodObject ? Object.keys(schema.shape) : [];
  if (names.length === 0) return typeof value === 'object' && value !== null;
  return names.some((name) => !TELLS_NOTHING.has(name) && (fieldOf(value, name) ?? null) !== null);
}
