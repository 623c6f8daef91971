/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/**
 * One text for one value: object names sorted, no white space, `undefined` left out.
 * Two option objects that mean the same give the same text, so their purchases share a key.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(',')}]`;
  if (value !== null && typeof value === 'object') {
    const parts: string[] = [];
    for (const name of Object.keys(value).sort()) {
      const item = (value as Record<string, unknown>)[name];
      if (item !== undefined) parts.push(`${JSON.stringify(name)}:${canonicalJson(item)}`);
    }
    return `{${parts.join(',')}}`;
  }
  return JSON.stringify(value) ?? 'null';
}

/** JSON that stays as it came, digits, order and repeated names included: its text, on one line. */
export class RawJson {
  constructor(readonly text: string) {}
}

/** The text of a value that is JSON, raw or not. */
export function jsonText(value: Json | RawJson): string {
  return value instanceof RawJson ? value.text : JSON.stringify(value);
}
