import { MAX_NESTING } from './nesting.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Cuts a JSON object into the bytes of its members, by name, without parsing them: for answers that somebody else will parse.
 * Null where it is no object, ends early or is nested too deep; other mistakes within a member are its reader's to find.
 */
export function membersOf(json: Uint8Array): ReadonlyMap<string, Uint8Array> | null {
  const members = new Map<string, Uint8Array>();
  const end = json.length;
  let at = 0;
  let depth = 0;
  /** Where the text or value began that is being read at depth 1. */
  let from = -1;
  let name: string | null = null;
  const take = (to: number): void => {
    if (name !== null && from >= 0) members.set(name, trimmed(json.subarray(from, to)));
    name = null;
  };
  for (; at < end; at++) {
    const byte = json[at] as number;
    if (byte === QUOTE) {
      const start = at++;
      for (; at < end && json[at] !== QUOTE; at++) if (json[at] === BACKSLASH) at++;
      if (depth === 1 && name === null) {
        name = textOf(json.subarray(start, at + 1));
        if (name === null) return null;
        from = -1;
      }
    } else if (byte === 0x7b || byte === 0x5b) {
      if (depth === 0 && byte === 0x5b) return null;
      if (++depth > MAX_NESTING) return null;
    } else if (byte === 0x7d || byte === 0x5d) {
      if (depth === 1) take(at);
      if (--depth === 0) break;
    } else if (depth === 1) {
      if (byte === 0x3a && from < 0) from = at + 1;
      else if (byte === 0x2c) take(at);
    } else if (depth === 0 && byte > 0x20 && byte !== 0xef && byte !== 0xbb && byte !== 0xbf) {
      return null;
    }
  }
  const rest = trimmed(json.subarray(at + 1));
  return at < end && depth === 0 && rest.length === 0 ? members : null;
}

function textOf(json: Uint8Array): string | null {
  try {
    const text: unknown = JSON.parse(Buffer.from(json).toString());
    return typeof text === 'string' ? text : null;
  } catch {
    return null;
  }
}

function trimmed(json: Uint8Array): Uint8Array {
  let [from, to] = [0, json.length];
  while (from < to && (json[from] as number) <= 0x20) from++;
  while (to > from && (json[to - 1] as number) <= 0x20) to--;
  return json.subarray(from, to);
}
