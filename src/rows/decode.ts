import { isUtf8 } from 'node:buffer';
import { CsvError } from './csv-error.js';

type Encoding = 'utf8' | 'utf16le' | 'utf16be';
const names: Record<Encoding, string> = { utf8: 'UTF-8', utf16le: 'UTF-16 (LE)', utf16be: 'UTF-16 (BE)' };

/**
 * Decodes bytes to text, chunk by chunk. A byte order mark selects UTF-8 or UTF-16; the default is UTF-8. Invalid bytes are never
 * replaced: invalid bytes cause a `CsvError` with line and character.
 */
export class TextDecoding {
  #encoding: Encoding | null = null;
  #rest: Buffer = Buffer.alloc(0);
  /**
   * Number of lines before the current chunk, and number of characters from the start of the chunk's first line to the chunk. Both numbers
   * are for messages.
   */
  #lines = 0;
  #column = 0;

  /**
   * Returns the complete characters of a chunk. An incomplete character at the end is kept for the next chunk. `last` with an empty chunk
   * ends the text.
   */
  decode(chunk: Buffer, last: boolean): string {
    let bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
    if (this.#encoding === null) {
      if (bytes.length < 4 && !last) {
        this.#rest = bytes;
        return '';
      }
      const [encoding, mark] = sniff(bytes);
      this.#encoding = encoding;
      bytes = bytes.subarray(mark);
    }
    const whole = last ? bytes.length : wholeLength(bytes, this.#encoding);
    this.#rest = bytes.subarray(whole);
    const text = this.#toText(bytes.subarray(0, whole), this.#encoding);
    this.#advance(text);
    return text;
  }

  #toText(bytes: Buffer, encoding: Encoding): string {
    if (encoding === 'utf8') {
      if (isUtf8(bytes)) return bytes.toString('utf8');
      const good = validPrefix(bytes);
      return this.#refuse(bytes.toString('utf8', 0, good), bytes[good]);
    }
    if (bytes.length % 2 === 1) return this.#refuse(bytes.toString('utf16le', 0, bytes.length - 1), bytes.at(-1));
    const text = (encoding === 'utf16be' ? Buffer.from(bytes).swap16() : bytes).toString('utf16le');
    const lone = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.exec(text);
    return lone === null ? text : this.#refuse(text.slice(0, lone.index), undefined);
  }

  #refuse(before: string, byte: number | undefined): never {
    this.#advance(before);
    const found = byte === undefined ? 'half a character' : `the byte 0x${byte.toString(16).padStart(2, '0')}`;
    const encoding = names[this.#encoding ?? 'utf8'];
    throw new CsvError(
      `line ${this.#lines + 1}, character ${this.#column + 1}: the text is not valid ${encoding} (${found}); save the file as UTF-8`,
      this.#lines + 1,
    );
  }

  #advance(text: string): void {
    let from = 0;
    // If there is no LF, the file has CR line ends, and CRs are counted. In a text with LFs and CRs, only LFs are counted, as in editors.
    const end = text.includes('\n') ? '\n' : '\r';
    for (let at = text.indexOf(end); at !== -1; at = text.indexOf(end, from)) {
      this.#lines++;
      this.#column = 0;
      from = at + 1;
    }
    this.#column += text.length - from;
  }
}

function sniff(bytes: Buffer): [Encoding, number] {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return ['utf8', 3];
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return ['utf16le', 2];
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return ['utf16be', 2];
  if (bytes.subarray(0, 4).equals(Buffer.from([0x50, 0x4b, 3, 4]))) {
    throw new CsvError('The input is a ZIP file (Excel workbooks are ZIP files, too), not CSV; save it as CSV');
  }
  if (bytes.subarray(0, 4).includes(0)) {
    throw new CsvError(
      'line 1, character 1: NUL bytes; the input is not text, or is UTF-16 without a byte order mark; save it as UTF-8',
      1,
    );
  }
  return ['utf8', 0];
}

/** Returns the length of the complete characters in a chunk, without a last character that is incomplete. */
function wholeLength(bytes: Buffer, encoding: Encoding): number {
  if (encoding !== 'utf8') {
    const even = bytes.length - (bytes.length % 2);
    const high = even >= 2 ? bytes[encoding === 'utf16le' ? even - 1 : even - 2] : undefined;
    return high !== undefined && high >= 0xd8 && high <= 0xdb ? even - 2 : even;
  }
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] as number;
    if (byte < 0x80) break;
    if (byte >= 0xc0) {
      const needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return needs > back ? bytes.length - back : bytes.length;
    }
  }
  return bytes.length;
}

/** Returns the length of the longest valid beginning of invalid bytes. */
function validPrefix(bytes: Buffer): number {
  let [good, bad] = [0, bytes.length];
  while (bad - good > 8) {
    const middle = (good + bad) >> 1;
    const whole = good + wholeLength(bytes.subarray(good, middle), 'utf8');
    if (isUtf8(bytes.subarray(good, whole))) {
      if (whole === good) break;
      good = whole;
    } else bad = middle;
  }
  for (let end = bad; end > good; end--) if (isUtf8(bytes.subarray(good, end))) return end;
  return good;
}
