/**
 * The bytes of a JSON text without line feeds, which it has only between its tokens, and mended where it holds escapes that a
 * database's text may not take. The very same bytes where there is nothing to do, which is nearly always.
 */
export function inOneLine(json: Uint8Array, mend: (text: string) => string): Uint8Array {
  const bytes = Buffer.from(json.buffer, json.byteOffset, json.byteLength);
  const odd = isOdd(bytes);
  if (!odd && !bytes.includes(10)) return bytes;
  const text = bytes.toString().replaceAll('\n', ' ');
  return Buffer.from(odd ? mend(text) : text);
}

/** Whether there may be an escape to mend. Pairs of surrogates are hardly ever written as escapes. */
export function isOdd(bytes: Buffer): boolean {
  return bytes.includes('\\ud') || bytes.includes('\\uD') || bytes.includes('\\u0000');
}
