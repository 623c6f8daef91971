/**
 * Returns the bytes of a JSON text on one line; JSON has line feeds only between its tokens. Escapes that a database cannot hold as text
 * are repaired. If there is nothing to change, which is usual, the same bytes are returned.
 */
export function inOneLine(
  json: Uint8Array,
  isOdd: (bytes: Buffer) => boolean,
  mend: (text: string) => string,
): Uint8Array {
  const bytes = Buffer.from(json.buffer, json.byteOffset, json.byteLength);
  const odd = isOdd(bytes);
  if (!odd && !bytes.includes(10)) return bytes;
  const text = bytes.toString().replaceAll('\n', ' ');
  return Buffer.from(odd ? mend(text) : text);
}

/** Whether the escapes of a JSON text may contain half of a surrogate pair. Whole pairs need no repair. */
export function hasHalves(bytes: Buffer): boolean {
  return ['\\ud', '\\uD'].some((start) => {
    for (let at = bytes.indexOf(start); at >= 0; at = bytes.indexOf(start, at)) {
      const kind = hex(bytes[at + 3]);
      if (kind < 8) {
        at += 4;
        continue;
      }
      const pair =
        kind < 12 &&
        bytes[at + 6] === 0x5c &&
        bytes[at + 7] === 0x75 &&
        hex(bytes[at + 8]) === 13 &&
        hex(bytes[at + 9]) >= 12;
      // After an escaped backslash the bytes may be plain text, not an escape. The repair decides.
      if (!pair || bytes[at - 1] === 0x5c) return true;
      at += 12;
    }
    return false;
  });
}

function hex(code = 0): number {
  return code > 0x60 ? code - 0x57 : code > 0x40 ? code - 0x37 : code - 0x30;
}

/** Like `hasHalves`, also for NUL. */
export function hasHalvesOrNul(bytes: Buffer): boolean {
  return bytes.includes('\\u0000') || hasHalves(bytes);
}
