import { CsvError, type Options, parse } from 'csv-parse/sync';
import { type CsvFormat, MAX_CELLS } from './header.js';

const [LF, CR, QUOTE, NUL] = [10, 13, 34, 0];

/** A quote that a record may not have. The numbers are indexes of bytes; the column counts from 1. */
export interface MisplacedQuote {
  readonly column: number;
  /** The quote that begins the cell; the misplaced quote itself in a cell without such a quote. */
  readonly opened: number;
  /** The misplaced quote, or the text after a closing quote; null for a quote that is not closed before the end of the bytes. */
  readonly found: number | null;
}

/**
 * Finds the first misplaced quote of the record that begins at `start`; returns null if there is none. `lenient`: an unquoted cell may have
 * quotes, as in `12" disk`. But where an earlier cell has a quote, a quote at the end of an unquoted cell may close it: then the delimiter
 * between them may be text.
 */
export function findMisplacedQuote(
  bytes: Buffer,
  start: number,
  format: CsvFormat,
  lenient = false,
): MisplacedQuote | null {
  let stray: MisplacedQuote | null = null;
  const delimiter = Buffer.from(format.delimiter);
  const endsCell = (at: number) => at >= bytes.length || isDelimiter(at) || endsLine(at);
  const isDelimiter = (at: number) =>
    bytes[at] === delimiter[0] && delimiter.every((byte, index) => bytes[at + index] === byte);
  const endsLine = (at: number) => {
    if (format.lineEnd === '\r') return bytes[at] === CR;
    return bytes[at] === LF || (bytes[at] === CR && bytes[at + 1] === LF);
  };
  for (let [at, column] = [start, 1]; ; column++) {
    const opened = at;
    if (bytes[at] === QUOTE) {
      const close = closingQuote(bytes, at);
      if (close === -1) return { column, opened, found: null };
      at = close + 1;
      // csv-parse accepts a NUL after a closing quote.
      if (!endsCell(at) && bytes[at] !== NUL) return { column, opened, found: at };
    }
    for (; at < bytes.length; at++) {
      const byte = bytes[at];
      if (byte !== QUOTE) {
        if ((byte === delimiter[0] || byte === LF || byte === CR) && endsCell(at)) break;
        continue;
      }
      stray ??= { column, opened: at, found: at };
      if (!lenient || (stray.column < column && endsCell(at + 1))) return stray;
    }
    if (!isDelimiter(at)) return null;
    at += delimiter.length;
  }
}

/** Returns the index of the quote that closes the quote at `open`; -1 if there is none. Doubled quotes are skipped. */
function closingQuote(bytes: Buffer, open: number): number {
  let close = bytes.indexOf(QUOTE, open + 1);
  while (close !== -1 && bytes[close + 1] === QUOTE) close = bytes.indexOf(QUOTE, close + 2);
  return close;
}

/**
 * Records of a block, and why the reading ended. `complete`: every record was read. `misplaced`: a quote of the next record is misplaced.
 * `open`: the block ends within a quoted cell of the next record.
 */
export interface ReadRecords {
  readonly rows: string[][];
  readonly end: 'complete' | 'misplaced' | 'open';
}

const ends: Readonly<Record<string, ReadRecords['end']>> = {
  INVALID_OPENING_QUOTE: 'misplaced',
  CSV_INVALID_CLOSING_QUOTE: 'misplaced',
  CSV_QUOTE_NOT_CLOSED: 'open',
};

export class CsvParser {
  readonly #options;
  readonly #lineEnd: string;
  /** A last cell that is added to a line which is read alone. It also closes an open quote, so that the next line is not read with it. */
  readonly #mark: string;
  readonly #ending: Buffer;

  constructor({ delimiter, lineEnd }: CsvFormat) {
    this.#lineEnd = lineEnd;
    this.#mark = delimiter === 'x' ? 'y"' : 'x"';
    this.#ending = Buffer.from(`${delimiter}${this.#mark}${lineEnd}`);
    // Each call has the same options in the same order, which keeps csv-parse fast.
    this.#options = {
      delimiter,
      record_delimiter: lineEnd === '\n' ? ['\r\n', '\n'] : [lineEnd],
      relax_column_count: true,
      skip_empty_lines: true,
      ignore_last_delimiters: MAX_CELLS + 1,
      relax_quotes: false,
      to: -1,
    };
  }

  /**
   * Reads a block by the rules of RFC 4180, up to the first problem. Blank lines are skipped. A record has at most `MAX_CELLS + 1` cells:
   * the last cell contains all further cells.
   */
  readRecords(block: Buffer): ReadRecords {
    try {
      return { rows: this.#parse(block, this.#options), end: 'complete' };
    } catch (error) {
      const end = error instanceof CsvError ? ends[error.code] : undefined;
      if (end === undefined) throw error;
      // csv-parse returns no records with an error, so the records before the error are read again.
      const { records } = error as { readonly records: number };
      return { rows: records === 0 ? [] : this.#parse(block, { ...this.#options, to: records }), end };
    }
  }

  /**
   * Reads each line alone. A misplaced quote is a character like others. Returns the cells of each line; null for a line that ends within
   * a quoted cell. The lines are without line ends and not empty.
   */
  readLines(lines: readonly Buffer[]): (string[] | null)[] {
    const rows = this.#parse(Buffer.concat(lines.flatMap((line) => [line, this.#ending])), {
      ...this.#options,
      record_delimiter: [this.#lineEnd],
      ignore_last_delimiters: MAX_CELLS + 2,
      relax_quotes: true,
    });
    if (rows.length !== lines.length) throw new Error(`csv-parse read ${lines.length} lines as ${rows.length}`);
    return rows.map((cells) => {
      if (cells.length > MAX_CELLS + 1) return cells;
      return cells.pop() === this.#mark ? cells : null;
    });
  }

  /** Without stack traces: csv-parse makes an error of every row with a different number of cells, and a trace costs more than the row. */
  #parse(bytes: Buffer, options: Options): string[][] {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    try {
      return parse(bytes, options);
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
    }
  }
}
