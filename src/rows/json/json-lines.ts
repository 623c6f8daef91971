import { MAX_RECORD } from '../csv/csv-record.js';
import { CsvError } from '../csv-error.js';
import { TextDecoding } from '../decode.js';

/** A piece of JSON text, and the line where it begins, from 1. */
export interface JsonPiece {
  readonly line: number;
  readonly text: string;
}

const MIB = MAX_RECORD / 1024 / 1024;
const BATCH_CHARS = 1024 * 1024;

/**
 * Yields the values of JSON Lines: each line that is not blank. If the text begins with `[`, it is one list, and its elements are the values.
 * Throws `CsvError` for a value above the limit, and for a list that does not end.
 */
export async function* jsonPieces(
  chunks: AsyncIterable<Buffer>,
  encoding: string | undefined,
  name: string | undefined,
  signal?: AbortSignal,
): AsyncGenerator<readonly JsonPiece[]> {
  const decoding = new TextDecoding(encoding, name);
  let pieces: Pieces | null = null;
  let start = '';
  const take = (text: string, last: boolean): JsonPiece[] => {
    if (pieces === null) {
      start += text;
      const first = /\S/.exec(start)?.[0];
      if (first === undefined && !last && start.length < BATCH_CHARS) return [];
      pieces = first === '[' ? new Elements() : new Lines();
      return pieces.read(start, last);
    }
    return pieces.read(text, last);
  };
  for await (const chunk of chunks) {
    signal?.throwIfAborted();
    const found = take(decoding.decode(chunk, false), false);
    if (found.length > 0) yield found;
  }
  yield take(decoding.decode(Buffer.alloc(0), true), true);
}

interface Pieces {
  read(text: string, last: boolean): JsonPiece[];
}

function refuseLong(length: number, line: number): void {
  if (length > MAX_RECORD)
    throw new CsvError('input-too-large', `line ${line}: a value of more than ${MIB} MiB, which is the limit`, line);
}

class Lines implements Pieces {
  #rest = '';
  #line = 1;

  read(text: string, last: boolean): JsonPiece[] {
    const all = this.#rest + text;
    const found: JsonPiece[] = [];
    let from = 0;
    for (let end = all.indexOf('\n'); end !== -1; end = all.indexOf('\n', from)) {
      this.#take(all.slice(from, end), found);
      this.#line++;
      from = end + 1;
    }
    this.#rest = all.slice(from);
    refuseLong(this.#rest.length, this.#line);
    if (last) this.#take(this.#rest, found);
    return found;
  }

  #take(text: string, found: JsonPiece[]): void {
    refuseLong(text.length, this.#line);
    if (/\S/.test(text)) found.push({ line: this.#line, text });
  }
}

/** Splits a list into its elements: a comma or bracket that is in no text and in no other element separates them. */
class Elements implements Pieces {
  #rest = '';
  /** Where scanning continues in `#rest`. */
  #at = 0;
  #line = 1;
  #start = 1;
  #depth = 0;
  #isText = false;
  #isOver = false;
  #count = 0;

  read(text: string, last: boolean): JsonPiece[] {
    const all = this.#rest + text;
    const found: JsonPiece[] = [];
    const marks = /["\\\n[\]{},]/g;
    marks.lastIndex = this.#at;
    let from = 0;
    let end = all.length;
    for (let mark = marks.exec(all); mark !== null; mark = marks.exec(all)) {
      const [char] = mark;
      if (char === '\n') this.#line++;
      else if (char === '\\') {
        // An escape at the end of a piece is scanned with the next piece.
        if (mark.index + 1 >= all.length) {
          end = mark.index;
          break;
        }
        marks.lastIndex = mark.index + 2;
      } else if (char === '"') this.#isText = !this.#isText;
      else if (!this.#isText && this.#step(char, all.slice(from, mark.index), found)) from = mark.index + 1;
    }
    this.#rest = all.slice(from);
    this.#at = end - from;
    refuseLong(this.#rest.length, this.#start);
    if (this.#isOver && /\S/.test(this.#rest))
      throw new CsvError('json-invalid', `line ${this.#line}: text after the end of the list`, this.#line);
    if (last && !this.#isOver)
      throw new CsvError(
        'json-invalid',
        `line ${this.#start}: the list of JSON values ends in the middle`,
        this.#start,
      );
    return found;
  }

  /** Takes a mark outside of texts. Returns whether an element begins after it. */
  #step(char: string, before: string, found: JsonPiece[]): boolean {
    if (char === '[' || char === '{') return this.#depth++ === 0 && this.#begin();
    const isEnd = char !== ',';
    if (isEnd) this.#depth--;
    if (this.#depth > (isEnd ? 0 : 1) || this.#isOver) return false;
    const isEmpty = !/\S/.test(before);
    if (isEmpty && !(isEnd && this.#count === 0))
      throw new CsvError(
        'json-invalid',
        `line ${this.#line}: the list of JSON values has an empty element`,
        this.#line,
      );
    if (!isEmpty)
      found.push({ line: this.#start + (/^\s*/.exec(before)?.[0].split('\n').length ?? 1) - 1, text: before });
    this.#count++;
    this.#isOver = isEnd;
    return this.#begin();
  }

  #begin(): boolean {
    this.#start = this.#line;
    return true;
  }
}
