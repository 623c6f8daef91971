import { basename } from 'node:path';
import { type ExactJson, parseExactJson, plainText } from '../../core/text/exact-json.js';
import { MAX_CELLS } from '../csv/csv-record.js';
import { CsvError, InputUnsteady, quoted } from '../csv-error.js';
import type { OpenedTable, RecordPlace, RowColumn, RowReader, RowRecord } from '../row-reader.js';
import { openSource } from '../source.js';
import { JsonColumn, jsonCell } from './json-column.js';
import { type JsonPiece, jsonPieces } from './json-lines.js';

/** Rows of a batch. The texts of few rows become garbage before V8 keeps them for long. */
const BATCH_ROWS = 128;

type Fields = { readonly [name: string]: ExactJson };

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
  if (found.size === 0 && total === 0) throw new CsvError('input-empty', 'The input is empty: it has no rows');
  if (found.size === 0)
    throw new CsvError(
      'json-invalid',
      `The input has no JSON object: ${first === null ? '' : `${first}. `}Each line must be an object, such as {"url": "https://…"}`,
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
