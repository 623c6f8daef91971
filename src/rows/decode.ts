import { isUtf8 } from 'node:buffer';
import { TextDecoder } from 'node:util';
import { CsvError } from './csv-error.js';

/** Encodings of Unicode, which are decoded here; all others have a `TextDecoder`. */
const names = { utf8: 'UTF-8', utf16le: 'UTF-16 (LE)', utf16be: 'UTF-16 (BE)' } as const;
type Unicode = keyof typeof names;
const unicode: Readonly<Record<string, Unicode>> = { 'utf-8': 'utf8', 'utf-16le': 'utf16le', 'utf-16be': 'utf16be' };
/** The characters of the bytes 0x80 to 0x9f in windows-1252. Some versions of Node.js decode them as Latin-1. */
const windows1252 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ';

/**
 * Decodes bytes to text, chunk by chunk. A byte order mark selects UTF-8 or UTF-16; the default is `encoding`, or UTF-8. Invalid bytes are
 * never replaced: invalid bytes cause a `CsvError` with line, character and byte.
 */
export class TextDecoding {
  #encoding: Unicode | TextDecoder | null = null;
  #hasMark = false;
  readonly #fallback: Unicode | TextDecoder;
  readonly #name: string;
  #rest: Buffer = Buffer.alloc(0);
  /** Number of bytes before the current chunk. */
  #bytes = 0;
  /**
   * Number of lines before the current chunk, and number of characters from the start of the chunk's first line to the chunk. Both numbers
   * are for messages.
   */
  #lines = 0;
  #column = 0;

  /**
   * `encoding`: a label of the Encoding Standard, such as `windows-1252`; absent: UTF-8. `name`: the input in messages. Throws `CsvError` for an
   * unknown encoding.
   */
  constructor(encoding?: string, name = 'the input') {
    this.#name = name;
    const decoder = encoding === undefined ? null : decoderOf(encoding);
    this.#fallback = decoder === null ? 'utf8' : (unicode[decoder.encoding] ?? decoder);
  }

  /** Whether the text begins with a byte order mark. */
  get hasMark(): boolean {
    return this.#hasMark;
  }

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
      const [encoding, mark] = sniff(bytes, this.#fallback);
      this.#encoding = encoding;
      this.#bytes = mark;
      this.#hasMark = mark > 0;
      bytes = bytes.subarray(mark);
    }
    const whole = last ? bytes.length : wholeLength(bytes, this.#encoding);
    this.#rest = bytes.subarray(whole);
    const text = this.#toText(bytes.subarray(0, whole), this.#encoding, last);
    this.#advance(text);
    this.#bytes += whole;
    return text;
  }

  #toText(bytes: Buffer, encoding: Unicode | TextDecoder, last: boolean): string {
    if (typeof encoding !== 'string') return this.#fromDecoder(bytes, encoding, last);
    if (encoding === 'utf8') {
      if (isUtf8(bytes)) return bytes.toString('utf8');
      const good = validPrefix(bytes);
      return this.#refuse(names[encoding], bytes.toString('utf8', 0, good), bytes, good);
    }
    if (bytes.length % 2 === 1)
      return this.#refuse(names[encoding], bytes.toString('utf16le', 0, bytes.length - 1), bytes, bytes.length - 1);
    const text = (encoding === 'utf16be' ? Buffer.from(bytes).swap16() : bytes).toString('utf16le');
    const lone = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.exec(text);
    return lone === null ? text : this.#refuse(names[encoding], text.slice(0, lone.index));
  }

  #fromDecoder(bytes: Buffer, decoder: TextDecoder, last: boolean): string {
    if (decoder.encoding === 'windows-1252')
      return bytes
        .toString('latin1')
        .replace(/[\x80-\x9f]/g, (char) => windows1252[char.charCodeAt(0) - 0x80] as string);
    const text = decoder.decode(bytes, { stream: !last });
    const invalid = text.indexOf('\ufffd');
    return invalid === -1 ? text : this.#refuse(decoder.encoding, text.slice(0, invalid));
  }

  #refuse(encoding: string, before: string, bytes?: Buffer, at = 0): never {
    this.#advance(before);
    const byte = bytes?.[at];
    const found =
      byte === undefined
        ? 'half a character'
        : `the byte 0x${byte.toString(16).padStart(2, '0')} at offset ${this.#bytes + at}`;
    throw new CsvError(
      'encoding-wrong',
      `line ${this.#lines + 1}, character ${this.#column + 1}: ${this.#name} is not valid ${encoding} (${found}). Name its encoding, such as --encoding windows-1252, or save it as UTF-8`,
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

/** Files that are often passed in place of CSV, by their first bytes. */
const notText: Readonly<Record<string, string>> = {
  '504b0304': 'an Excel workbook (.xlsx) or another ZIP file',
  d0cf11e0: 'an Excel workbook (.xls) or another old Office file',
};

function decoderOf(encoding: string): TextDecoder {
  try {
    return new TextDecoder(encoding, { ignoreBOM: true });
  } catch {
    throw new CsvError(
      'encoding-wrong',
      `The encoding ${JSON.stringify(encoding)} is unknown; name one such as utf-8, utf-16le, windows-1252, iso-8859-2 or shift_jis`,
    );
  }
}

function sniff(bytes: Buffer, fallback: Unicode | TextDecoder): [Unicode | TextDecoder, number] {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return ['utf8', 3];
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return ['utf16le', 2];
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return ['utf16be', 2];
  const kind = notText[bytes.toString('hex', 0, 4)];
  if (kind !== undefined)
    throw new CsvError(
      'input-wrong-format',
      `The input is ${kind}, not CSV. Open it in a spreadsheet program and save the sheet as "CSV UTF-8" (File > Save As), then pass that file`,
      1,
    );
  if (fallback === 'utf8' && bytes.subarray(0, 4).includes(0)) {
    throw new CsvError(
      'encoding-wrong',
      'line 1, character 1: NUL bytes; the input is not text, or is UTF-16 without a byte order mark. Pass --encoding utf-16le, or save it as UTF-8',
      1,
    );
  }
  return [fallback, 0];
}

/** Returns the length of the complete characters in a chunk, without a last character that is incomplete. */
function wholeLength(bytes: Buffer, encoding: Unicode | TextDecoder): number {
  if (typeof encoding !== 'string') return bytes.length;
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
