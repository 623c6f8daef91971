import type { RowRecord } from '../row-reader.js';

/** Maximum number of bytes of a record, of its cells as JSON, and of its request. A record above this size is refused. */
export const MAX_RECORD = 4 * 1024 * 1024;
export const MAX_CELLS = 10_000;

/** How a file separates its cells and lines. The line end LF also stands for CRLF. */
export interface CsvFormat {
  readonly delimiter: string;
  readonly lineEnd: '\n' | '\r';
}

export interface CsvRecord extends RowRecord {
  readonly cells: string[];
  /**
   * A problem with the quotes or the number of cells of the record, with the column of the problem. A record with a problem has one cell:
   * the text of its first line.
   */
  readonly problem: {
    readonly tag: 'CSV_INVALID' | 'CSV_RAGGED';
    readonly column: number;
    readonly message: string;
  } | null;
}
