/** Deeper JSON than this is not read: databases and whoever writes it anew would overflow their stacks. */
export const MAX_NESTING = 500;

/**
 * Whether a JSON text has more than `max` levels of lists and objects. Passes over texts in quotes as fast as they can be
 * searched, which is most of an answer.
 */
export function nestsDeeper(json: string, max = MAX_NESTING): boolean {
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === 0x22) {
      at = endOfText(json, at);
      if (at < 0) return false;
    } else if (code === 0x5b || code === 0x7b) {
      if (++depth > max) return true;
    } else if (code === 0x5d || code === 0x7d) depth--;
  }
  return false;
}

/** Levels that stay JSON where what is below them is cut. */
const KEPT_LEVELS = 64;

/** A text without deep nesting, and where in it the first value stands that was cut. */
export interface Shallow {
  readonly text: string;
  readonly at: number;
}

/**
 * Puts each value that reaches below {@link MAX_NESTING} levels into quotes, from its 64th level on: whole, but as a text. Null where
 * the brackets don't match, as in a text that broke off.
 */
export function cutNesting(json: string): Shallow | null {
  const pieces: string[] = [];
  let first = -1;
  let copied = 0;
  let depth = 0;
  let from = 0;
  let deepest = 0;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === 0x22) {
      at = endOfText(json, at);
      if (at < 0) return null;
    } else if (code === 0x5b || code === 0x7b) {
      if (++depth === KEPT_LEVELS) [from, deepest] = [at, 0];
      deepest = Math.max(deepest, depth);
    } else if (code === 0x5d || code === 0x7d) {
      if (depth-- === KEPT_LEVELS && deepest > MAX_NESTING) {
        pieces.push(json.slice(copied, from), JSON.stringify(json.slice(from, at + 1)));
        if (first < 0) first = from;
        copied = at + 1;
      }
    }
  }
  if (depth !== 0 || first < 0) return null;
  return { text: pieces.join('') + json.slice(copied), at: first };
}

/** Where the text in quotes that begins at `from` ends; -1 where it doesn't. */
function endOfText(json: string, from: number): number {
  for (let at = json.indexOf('"', from + 1); at >= 0; at = json.indexOf('"', at + 1)) {
    let slashes = 0;
    while (json.charCodeAt(at - 1 - slashes) === 0x5c) slashes++;
    if (slashes % 2 === 0) return at;
  }
  return -1;
}
