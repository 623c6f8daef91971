import { listsOf } from '../checks/members.js';
import { cutNesting, nestsDeeper, type Shallow } from '../checks/nesting.js';

/** A parsed JSON body, or the problem of the body: `truncated` where the text ends too early, `unrecognized` where the text is not JSON. */
export type ReadJson =
  | {
      readonly value: unknown;
      /** Set where parts of the answer are nested too deep: the JSON that was parsed instead, in which these parts are strings. */
      readonly cut?: Shallow;
      /** Set where the lists were split, see `listsOf`. */
      readonly lists?: ReadonlyMap<string, readonly Uint8Array[]>;
    }
  | {
      readonly kind: 'truncated' | 'unrecognized';
      readonly reason: string;
      /** Whether the transfer was complete. If it was, the server itself sent an incomplete text. */
      readonly whole?: boolean;
    };

/**
 * JSON above this size, in bytes, is parsed in parts. V8 keeps a longer text outside of its young generation, so each text takes new memory
 * of the system.
 */
const LONG_JSON = 131_072;
/** Elements of lists from this size on, in bytes, are parsed one by one. */
const LONG_ELEMENT = 512;

/**
 * Parses the body of a success. A text that starts as JSON and ends too early is truncated, even in a framed body: a proxy may
 * frame half an answer. Any other text that is not JSON is `unrecognized`, whatever its content type. `framed`: a header marked
 * the end of the body. An empty body is `unrecognized` if it was framed, otherwise truncated.
 */
export function readJson(bytes: Buffer, framed: boolean): ReadJson {
  const inParts = bytes.length > LONG_JSON ? readInParts(bytes) : null;
  if (inParts) return inParts;
  const raw = bytes.toString('utf8');
  const text = raw.charCodeAt(0) === 0xfeff ? raw.slice(1) : raw;
  const cut = nestsDeeper(text) ? cutNesting(text) : undefined;
  try {
    if (cut === null) return { kind: 'truncated', reason: 'the answer broke off', whole: framed };
    return cut ? { value: JSON.parse(cut.text), cut } : { value: JSON.parse(text) };
  } catch (error) {
    const trimmed = text.trim();
    if (trimmed === '') return { kind: framed ? 'unrecognized' : 'truncated', reason: 'the answer is empty' };
    if (/^[{[]/.test(trimmed) && endsEarly(trimmed, error))
      return { kind: 'truncated', reason: 'the answer broke off', whole: framed };
    return { kind: 'unrecognized', reason: 'the answer is not JSON' };
  }
}

/**
 * Parses the long elements of lists one by one, and the rest of the JSON with `0` in their places. Returns null where a part is not JSON; then
 * the whole is not JSON either.
 */
function readInParts(json: Buffer): ReadJson | null {
  const lists = listsOf(json);
  if (!lists) return null;
  const parts: (readonly [list: string, nth: number, element: Uint8Array])[] = [];
  let rest = '';
  let copied = 0;
  for (const [list, elements] of lists) {
    for (const [nth, element] of elements.entries()) {
      if (element.length < LONG_ELEMENT) continue;
      const from = element.byteOffset - json.byteOffset;
      rest += `${json.toString('utf8', copied, from)}0`;
      copied = from + element.length;
      parts.push([list, nth, element]);
    }
  }
  try {
    const value = JSON.parse(rest + json.toString('utf8', copied)) as Record<string, unknown[]>;
    for (const [list, nth, { byteOffset, length }] of parts) {
      const from = byteOffset - json.byteOffset;
      (value[list] as unknown[])[nth] = JSON.parse(json.toString('utf8', from, from + length));
    }
    return { value, lists };
  } catch {
    return null;
  }
}

function endsEarly(text: string, error: unknown): boolean {
  if (!/[}\]]$/.test(text)) return true;
  const message = error instanceof Error ? error.message : '';
  const at = /position (\d+)/.exec(message);
  return at === null ? /\bend\b/.test(message) : Number(at[1]) >= text.length;
}
