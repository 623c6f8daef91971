import type { FieldProblem } from '../checks/fields.js';

const field = /\{(\w+)\}/g;

/** Percent-encodes a text for a path or a query; null for a text with an unpaired surrogate, which UTF-8 cannot encode. */
export function percentEncode(text: string): string | null {
  try {
    return encodeURIComponent(text);
  } catch {
    return null;
  }
}

/** Returns the fields of the input that a path needs, in order. */
export function pathFields(path: string): string[] {
  return [...path.matchAll(field)].map((match) => match[1] ?? '');
}

/** Fills a path with encoded ids of the input, or returns the problem of an id that cannot be in a path. */
export function fillPath(path: string, input: object): { readonly path: string } | { readonly problem: FieldProblem } {
  let wrong: FieldProblem | null = null;
  const filled = path.replace(field, (_braced, name: string) => {
    const value: unknown = Object.getOwnPropertyDescriptor(input, name)?.value;
    // A dot segment, encoded or not, would lead to another path.
    const encoded = typeof value === 'string' && !/^(\s*|\.{1,2})$/.test(value) ? percentEncode(value) : null;
    if (encoded === null) wrong ??= { field: name, message: `${name} must be an id` };
    return encoded ?? '';
  });
  return wrong ? { problem: wrong } : { path: filled };
}
