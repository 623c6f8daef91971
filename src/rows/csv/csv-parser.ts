import { CsvError, type Options, parse } from 'csv-parse/sync';
import { type CsvFormat, MAX_CELLS } from './csv-record.js';

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

/** Reads the cells of records with csv-parse. */
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
