import { isUtf8 } from 'node:buffer';
import { canonicalJsonText } from '../../core/text/exact-json.js';
import { RawJson } from '../../core/text/json.js';
import { MAX_NESTING } from './nesting.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OBJECT = 0x7b;
const LIST = 0x5b;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;

/**
 * Splits a JSON object into the bytes of its members by name, without parsing them. Returns null where the JSON is not an object,
 * ends early or is nested too deep. Other mistakes in a member are found when the member is read. Of members with the same name
 * the last counts, as in `JSON.parse`.
 */
export function membersOf(json: Uint8Array): ReadonlyMap<string, Uint8Array> | null {
  const members = new Map<string, Uint8Array>();
  const whole = eachPart(json, OBJECT, (name, value) => {
    if (name !== null) members.set(name, value);
  });
  return whole ? members : null;
}

/** Splits a JSON list into the bytes of its elements, without parsing them; null where the JSON is not a list. */
export function elementsOf(json: Uint8Array): readonly Uint8Array[] | null {
  const elements: Uint8Array[] = [];
  const whole = eachPart(json, LIST, (_name, value) => {
    if (value.length > 0) elements.push(value);
  });
  return whole ? elements : null;
}

/**
 * Splits each list of a JSON object into the bytes of its elements, by the name of the list. Returns null for the same JSON as
 * {@link membersOf}. The lists are in the order of the JSON.
 */
export function listsOf(json: Uint8Array): ReadonlyMap<string, readonly Uint8Array[]> | null {
  const lists = new Map<string, readonly Uint8Array[]>();
  let elements: Uint8Array[] = [];
  const onMember = (name: string | null, value: Uint8Array) => {
    if (name !== null) lists.delete(name);
    if (name !== null && value[0] === LIST) lists.set(name, elements);
    elements = [];
  };
  const whole = eachPart(json, OBJECT, onMember, (element) => {
    if (element.length > 0) elements.push(element);
  });
  return whole ? lists : null;
}

/** The maximum number of steps of a path. The path of a deeper value ends at one of its parents. */
const MAX_STEPS = 4;

/** Returns the path of the value that holds the byte at `offset`. */
export function pathAt(json: Uint8Array, offset: number): readonly (string | number)[] {
  const path: (string | number)[] = [];
  let inside = json;
  while (path.length < MAX_STEPS) {
    const parts: (readonly [string | number, Uint8Array])[] = [
      ...(membersOf(inside) ?? []),
      ...(elementsOf(inside)?.entries() ?? []),
    ];
    const found = parts.find(([, { byteOffset, length }]) => {
      const from = byteOffset - json.byteOffset;
      return from <= offset && offset < from + length;
    });
    if (!found) return path;
    path.push(found[0]);
    inside = found[1];
  }
  return path;
}

/**
 * Returns a JSON value on one line, otherwise unchanged. Raw line feeds occur only between the parts of a JSON value. A value with a repeated
 * name becomes canonical JSON with the last of its values, because readers of JSON differ about such names.
 */
export function rawJson(json: Uint8Array): RawJson {
  const bytes = bufferOf(json);
  const repeats = repeatsName(bytes);
  const isPlain =
    !repeats && bytes[0] !== 0xef && !bytes.includes(LINE_FEED) && !bytes.includes(RETURN) && isUtf8(bytes);
  if (isPlain) return new RawJson(bytes);
  const text = bytes.toString();
  const plain = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  if (repeats) return new RawJson(canonicalJsonText(plain));
  return new RawJson(/[\r\n]/.test(plain) ? plain.replace(/[\r\n]/g, ' ').trim() : plain);
}

function repeatsName(json: Buffer): boolean {
  const objects: Set<string>[] = [];
  for (let at = 0; at < json.length; at++) {
    const byte = json[at] as number;
    if (byte === OBJECT) objects.push(new Set());
    else if (byte === 0x7d) objects.pop();
    if (byte !== QUOTE) continue;
    const start = at;
    at = endOfText(json, at);
    let next = at + 1;
    while ((json[next] as number) <= 0x20) next++;
    if (json[next] !== 0x3a) continue;
    let name = json.toString('latin1', start + 1, at); // One character for each byte, the fastest to make.
    if (name.includes('\\')) name = Buffer.from(textOf(json.subarray(start, at + 1)) ?? '').toString('latin1');
    if (objects.at(-1)?.has(name)) return true;
    objects.at(-1)?.add(name);
  }
  return false;
}

/** The same bytes as a `Buffer`, whose searches are faster. */
const bufferOf = (json: Uint8Array): Buffer =>
  Buffer.isBuffer(json) ? json : Buffer.from(json.buffer, json.byteOffset, json.byteLength);

/**
 * Passes each part of an object or list to `onPart`; before a part that is a list, passes the elements of this list to `onElement`. Returns
 * false where the JSON is neither, ends early or is nested too deep.
 */
function eachPart(
  bytes: Uint8Array,
  kind: typeof OBJECT | typeof LIST,
  onPart: (name: string | null, value: Uint8Array) => void,
  onElement: ((value: Uint8Array) => void) | null = null,
): boolean {
  const json = bufferOf(bytes);
  const end = json.length;
  let at = 0;
  let depth = 0;
  /** Start of the current value at depth 1. */
  let from = -1;
  let name: string | null = null;
  /** Start of the current element of a list at depth 1; -1 outside of such a list. */
  let elementFrom = -1;
  const takeElement = (to: number): void => {
    if (elementFrom >= 0) onElement?.(trimmed(json, elementFrom, to));
  };
  const take = (to: number): void => {
    if (from >= 0) onPart(name, trimmed(json, from, to));
    name = null;
    from = kind === LIST ? to + 1 : -1;
  };
  for (; at < end; at++) {
    const byte = json[at] as number;
    if (byte === QUOTE) {
      const start = at;
      at = endOfText(json, at);
      if (depth === 1 && name === null && kind === OBJECT) {
        name = textOf(json.subarray(start, at + 1));
        if (name === null) return false;
        from = -1;
      }
    } else if (byte === 0x7b || byte === 0x5b) {
      if (depth === 0 && byte !== kind) return false;
      if (depth === 0 && kind === LIST) from = at + 1;
      if (depth === 1 && onElement) elementFrom = byte === LIST ? at + 1 : -1;
      if (++depth > MAX_NESTING) return false;
    } else if (byte === 0x7d || byte === 0x5d) {
      if (depth === 1) take(at);
      if (depth === 2) takeElement(at);
      if (--depth === 0) break;
    } else if (depth === 1) {
      if (byte === 0x3a && from < 0) from = at + 1;
      else if (byte === 0x2c) take(at);
    } else if (depth === 2 && byte === 0x2c) {
      takeElement(at);
      if (elementFrom >= 0) elementFrom = at + 1;
    } else if (depth === 0 && byte > 0x20 && byte !== 0xef && byte !== 0xbb && byte !== 0xbf) {
      return false;
    }
  }
  return at < end && depth === 0 && trimmed(json, at + 1, end).length === 0;
}

/** Characters of a text that are looked at one by one. The start of a search takes longer than reading a short text. */
const SHORT = 24;

/** Returns the offset of the quote that ends the text which begins at `start`; the length of the JSON if the text does not end. */
function endOfText(json: Buffer, start: number): number {
  let at = start + 1;
  for (const short = Math.min(json.length, at + SHORT); at < short; at++) {
    if (json[at] === QUOTE) return at;
    if (json[at] === BACKSLASH) at++;
  }
  for (;;) {
    const quote = json.indexOf(QUOTE, at);
    if (quote < 0) return json.length;
    let escapes = 0;
    while (quote - escapes > at && json[quote - escapes - 1] === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return quote;
    at = quote + 1;
  }
}

function textOf(json: Uint8Array): string | null {
  try {
    const text: unknown = JSON.parse(Buffer.from(json).toString());
    return typeof text === 'string' ? text : null;
  } catch {
    return null;
  }
}

/** The bytes from `start` to `end` without white space around them. */
function trimmed(json: Uint8Array, start: number, end: number): Uint8Array {
  let [from, to] = [start, end];
  while (from < to && (json[from] as number) <= 0x20) from++;
  while (to > from && (json[to - 1] as number) <= 0x20) to--;
  return json.subarray(from, to);
}
