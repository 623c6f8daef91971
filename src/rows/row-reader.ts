import type { ColumnType } from '../core/rows/column-type.js';

export interface RowColumn {
  /** Unique in its table. */
  readonly name: string;
  readonly type: ColumnType;
}

/** What is odd about the cell of a valid URL: a URL that is sent as it is, and may not name the page that is meant. */
export interface Oddity {
  /** The end of a sentence about URLs. */
  readonly what: string;
  /** What is odd about this one, for an example. */
  readonly example: string;
}

/** The unit of one row, or the problem of the row. For a bad row, `unit` is the text of the cell; null if there is no such text. */
export type RowUnit =
  | { readonly unit: string; readonly problem: null; readonly odd?: (Oddity & { readonly place: string }) | null }
  | { readonly unit: string | null; readonly problem: { readonly tag: string; readonly message: string } };

/** Where the numbers of records count: lines of a text, or rows. `file`: set if the table has several files. */
export interface RecordPlace {
  readonly word: 'line' | 'row';
  readonly file?: string;
}

export interface RowRecord {
  /** Line where the record begins, or number of the row; from 1. */
  readonly line: number;
  /** Absent: a line of the only file. */
  readonly place?: RecordPlace | undefined;
  /** The canonical texts of the values; null: no value. The cells of a CSV are texts, unchanged. */
  readonly cells: readonly (string | null)[];
  /** The cells as JSON, from a reader that has this text anyway. */
  readonly json?: string;
  /** The rendered template, from a reader that renders it (`isRendered`). */
  readonly unit?: RowUnit | undefined;
  /**
   * Why the record cannot be bought, with the column of the problem (null: the whole record); null if nothing is wrong. Readers of typed columns leave these columns
   * null and put the text of such a record after them.
   */
  readonly problem: { readonly tag: string; readonly column: number | null; readonly message: string } | null;
}

export interface OpenedTable {
  readonly columns: readonly RowColumn[];
  /** Types that hold all values, after the last row; absent: those of the columns, which only a value that does not fit changes. */
  typesAtEnd?(): readonly ColumnType[];
  /** Whether the columns have types. The columns of a CSV have none: all are texts, and an empty cell is like no value. */
  readonly isTyped: boolean;
  /** Columns that have no name of their own in the input: positions from 1, with the names that they were given. */
  readonly renamed: readonly { readonly column: number; readonly name: string }[];
  /** The delimiter of a CSV; null for other formats. */
  readonly delimiter: string | null;
  /** Whether a CSV begins with a byte order mark; absent: it does not. */
  readonly bom?: boolean;
  /** Whether the reader has passed the texts through `wholeTexts`, and has rendered the template; absent: it has not. */
  readonly isRendered?: boolean;
  /** Sentences for the plan. */
  readonly notes: readonly string[];
  /** The records in order, in batches of bounded size. Can be called once. Throws `CsvError` for an input that is not a table. */
  batches(): AsyncIterable<readonly RowRecord[]>;
  /** Hex SHA-256 of the content that was read; null: the hash is made from columns and cells. */
  contentHash(): string | null;
  /** Number of stored bytes read so far and in total, null if unknown. */
  progress(): { readonly bytes: number; readonly total: number | null };
  close(): Promise<void>;
}

/** A source of rows, such as a CSV file. */
export interface RowReader {
  /** Opens the table and reads its columns. Throws `CsvError`, one sentence, if there is no table. A stream can be opened once. */
  open(signal?: AbortSignal): Promise<OpenedTable>;
}
