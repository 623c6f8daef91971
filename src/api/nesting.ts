/** Deeper JSON than this is refused: writing it anew, as the journal must, would overflow the stack. */
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

/** Where the text in quotes that begins at `from` ends; -1 where it doesn't. */
function endOfText(json: string, from: number): number {
  for (let at = json.indexOf('"', from + 1); at >= 0; at = json.indexOf('"', at + 1)) {
    let slashes = 0;
    while (json.charCodeAt(at - 1 - slashes) === 0x5c) slashes++;
    if (slashes % 2 === 0) return at;
  }
  return -1;
}
