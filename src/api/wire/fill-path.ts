import type { LimitProblem } from '../checks/limits.js';

const field = /\{(\w+)\}/g;

/** Percent-encodes a text for a path or a query; `null` for one with half a character, which has no UTF-8. */
export function percentEncode(text: string): string | null {
  try {
    return encodeURIComponent(text);
  } catch {
    return null;
  }
}

/** The fields of the input that a path takes, in order. */
export function pathFields(path: string): string[] {
  return [...path.matchAll(field)].map((match) => match[1] ?? '');
}

/** Fills a path with ids from the input, encoded, or says which of them can't stand in a path. */
export function fillPath(path: string, input: object): { readonly path: string } | { readonly problem: LimitProblem } {
  let wrong: LimitProblem | null = null;
  const filled = path.replace(field, (_braced, name: string) => {
    const value: unknown = Object.getOwnPropertyDescriptor(input, name)?.value;
    // A dot segment would be another path on the way, however it is encoded.
    const encoded = typeof value === 'string' && !/^(\s*|\.{1,2})$/.test(value) ? percentEncode(value) : null;
    if (encoded === null) wrong ??= { field: name, message: `${name}: an id is needed` };
    return encoded ?? '';
  });
  return wrong ? { problem: wrong } : { path: filled };
}
