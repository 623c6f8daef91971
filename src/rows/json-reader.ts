import { basename } from 'node:path';
import { type ExactJson, parseExactJson, plainText } from '../core/text/exact-json.js';
import { CsvError, InputUnsteady, quoted } from './csv-error.js';
import { TextDecoding } from './decode.js';
import { MAX_CELLS, MAX_RECORD } from './header.js';
import { JsonColumn, jsonCell } from './json-column.js';
import type { OpenedTable, RecordPlace, RowColumn, RowReader, RowRecord } from './row-reader.js';
import { openSource } from './source.js';

/** Rows of a batch. The texts of few rows become garbage before V8 keeps them for long. */
const BATCH_ROWS = 128;

export type Fields = { readonly [name: string]: ExactJson };

/**
 * Returns a reader of files with JSON Lines or a JSON list of objects, plain or gzip, as one table. The files are read twice: columns and types
 * are those of all objects. A line that is no object is a bad record.
 */
export function jsonReader(files: readonly string[], encoding?: string): RowReader {
  const names = files.length === 1 ? [undefined] : files.map((file) => basename(file));
  return { open: (signal) => openJson({ files, names, encoding, signal }) };
}

interface Opening {
  readonly files: readonly string[];
  /** Names for messages; undefined for the only file. */
  readonly names: readonly (string | undefined)[];
  readonly encoding: string | undefined;
  readonly signal: AbortSignal | undefined;
}

async function openJson(opening: Opening): Promise<OpenedTable> {
  const { files, names } = opening;
  const found = new Map<string, JsonColumn>();
  const hashes: string[] = [];
  /** What is wrong with the first line that is no object. */
  let first: string | null = null;
  let bytes = 0;
  let total = 0;
  for (const [index, file] of files.entries()) {
    const reading = piecesOf(opening, file);
    for await (const { pieces, read } of reading.batches) {
      for (const piece of pieces) {
        const problem = addColumns(found, piece, names[index]);
        first ??= problem;
      }
      total += read;
    }
    hashes.push(reading.hash());
  }
  if (found.size === 0 && total === 0) throw new CsvError('input-empty', 'The input is empty: it has no rows', 1);
  if (found.size === 0)
    throw new CsvError(
      'json-invalid',
      `The input has no JSON object: ${first === null ? '' : `${first}. `}Each line must be an object, such as {"url": "https://…"}`,
      1,
    );
  const columns = [...found].map(([name, column]): RowColumn => ({ name, type: column.type() }));
  return {
    columns,
    ...{ isTyped: true, renamed: [], delimiter: null, notes: [] },
    async *batches() {
      for (const [index, file] of files.entries()) {
        const place = names[index] === undefined ? undefined : { word: 'line' as const, file: names[index] };
        const reading = piecesOf(opening, file);
        for await (const { pieces, read } of reading.batches) {
          bytes += read;
          for (let from = 0; from < pieces.length; from += BATCH_ROWS)
            yield pieces.slice(from, from + BATCH_ROWS).map((piece) => toRecord(piece, columns, place));
        }
        if (reading.hash() !== hashes[index])
          throw new InputUnsteady('input-changed', `${file} changed while it was read; try again once it is complete`);
      }
    },
    contentHash: () => null,
    progress: () => ({ bytes, total }),
    close: async () => undefined,
  };
}

function piecesOf({ encoding, signal }: Opening, file: string) {
  let hash = '';
  async function* batches() {
    const source = await openSource(file);
    try {
      let before = 0;
      for await (const pieces of jsonPieces(source.chunks(), encoding, file, signal)) {
        const { bytes } = source.progress();
        yield { pieces, read: bytes - before };
        before = bytes;
      }
      hash = source.contentHash();
    } finally {
      await source.close();
    }
  }
  return { batches: batches(), hash: () => hash };
}

/** Adds the fields of an object to the columns. Returns what is wrong with a line that is no object; null for an object. */
function addColumns(found: Map<string, JsonColumn>, piece: JsonPiece, file: string | undefined): string | null {
  const fields = fieldsOf(piece);
  if (typeof fields === 'string') return `${file === undefined ? '' : `${file}, `}line ${piece.line}: ${fields}`;
  for (const [key, value] of Object.entries(fields)) {
    const name = plainText(key);
    let column = found.get(name);
    if (column === undefined) {
      if (found.size === MAX_CELLS)
        throw new CsvError(
          'input-too-large',
          `${file === undefined ? '' : `${file}, `}line ${piece.line}: more than ${MAX_CELLS} different fields, which is the limit`,
        );
      column = new JsonColumn();
      found.set(name, column);
    }
    column.add(value);
  }
  return null;
}

function toRecord(piece: JsonPiece, columns: readonly RowColumn[], place: RecordPlace | undefined): RowRecord {
  const { line, text } = piece;
  const at = place === undefined ? { line } : { line, place };
  const bad = (message: string): RowRecord => {
    const cells = [...columns.map(() => null), text];
    return { ...at, cells, problem: { tag: 'JSON_INVALID', column: null, message } };
  };
  const fields = fieldsOf(piece);
  if (typeof fields === 'string') return bad(fields);
  try {
    const cells = columns.map(({ name, type }) => jsonCell(Object.hasOwn(fields, name) ? fields[name] : null, type));
    return { ...at, cells, problem: null };
  } catch (error) {
    if (error instanceof RangeError) return bad('a list or object is nested too deeply');
    throw error;
  }
}

/** Returns the fields of an object; a sentence if the text is no object. */
function fieldsOf({ text }: JsonPiece): Fields | string {
  try {
    const value = parseExactJson(text);
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as Fields;
    return `not a JSON object: ${quoted(text.trim())}`;
  } catch (error) {
    return `not valid JSON (${(error as Error).message.split('\n', 1)[0]?.slice(0, 200)})`;
  }
}

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
