import { endOfText } from '../../core/text/exact-json.js';

/** Deeper JSON is not parsed: databases and serializers would overflow their stacks. */
export const MAX_NESTING = 500;

/**
 * Whether a JSON text has more than `max` levels of lists and objects. Quoted texts, which make up most of an answer, are skipped by a
 * search for their end.
 */
export function nestsDeeper(json: string, max = MAX_NESTING): boolean {
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === 0x22) {
      at = endOfText(json, at) - 1;
    } else if (code === 0x5b || code === 0x7b) {
      if (++depth > max) return true;
    } else if (code === 0x5d || code === 0x7d) depth--;
  }
  return false;
}

/** The number of levels that always stay JSON. */
const KEPT_LEVELS = 64;

/** A text without deep nesting, and the offset of the first value that was turned into a text. */
export interface Shallow {
  readonly text: string;
  readonly at: number;
}

/**
 * Cuts a JSON text with more than {@link MAX_NESTING} levels: each value at level 64 that contains a level above this maximum
 * becomes a text with the whole JSON of the value. Null where the brackets do not match, as in a text that broke off.
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
      at = endOfText(json, at) - 1;
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
