export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/**
 * Returns one text for equal values: object names sorted, no white space, `undefined` left out. Equal options give the same text, so
 * purchases with equal options share a key.
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

/** Made at the first use, because workflows load this module, too. */
let decoder: InstanceType<typeof TextDecoder> | null = null;

/**
 * JSON that is kept byte for byte on one line, as a text or as UTF-8. Digits, the order of names and repeated names stay as they are. Bytes of
 * an answer are not decoded until their text is needed, because a copy of each answer as a text takes a fifth of the CPU of contents.
 */
export class RawJson {
  constructor(readonly json: string | Uint8Array) {}

  get text(): string {
    if (typeof this.json === 'string') return this.json;
    decoder ??= new TextDecoder();
    return decoder.decode(this.json);
  }
}

export function jsonText(value: Json | RawJson): string {
  return value instanceof RawJson ? value.text : JSON.stringify(value);
}
