import { CodedError } from '../core/errors/coded-error.js';
import type { ErrorCode } from '../core/errors/registry.js';
import type { RowRecord } from './row-reader.js';

/** An input that cannot be read as a table. The message is one sentence with line and column. Nothing was staged. */
export class CsvError extends CodedError {
  override readonly name = 'CsvError';

  constructor(
    code: ErrorCode,
    message: string,
    /** Line of the file, from 1, where a person looks first; `null` if the message names the file itself. */
    readonly line: number | null = null,
    /** Column of the table, from 1; `null` if unknown. */
    readonly column: number | null = null,
  ) {
    super(code, message);
  }
}

/** An input that may be readable at the next attempt: it changed while it was read, or the system had a passing problem. */
export class InputUnsteady extends CsvError {
  readonly isTransient = true;
}

/** Returns the beginning of all messages about a record: `line 12`, or `b.parquet, row 12` if the table has several files. */
export function recordPosition({ line, place }: Pick<RowRecord, 'line' | 'place'>): string {
  const position = `${place?.word ?? 'line'} ${line}`;
  return place?.file === undefined ? position : `${place.file}, ${position}`;
}

/** Returns the beginning of all messages about a cell: `line 12, column 2 ("url")`. */
export function cellPosition(
  record: Pick<RowRecord, 'line' | 'place'>,
  column: number,
  name: string | undefined,
): string {
  return `${recordPosition(record)}, column ${column}${name === undefined ? '' : ` (${quoted(name)})`}`;
}

/** Returns a piece of user data for a message: short, quoted, and without characters that a terminal interprets. */
export function quoted(text: string): string {
  const piece = text.length > 80 ? `${text.slice(0, 77)}...` : text;
  return JSON.stringify(piece).replace(/[\u007f-\u009f\u2028\u2029\p{Cf}\p{DI}]/gu, (char) =>
    Array.from({ length: char.length }, (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  );
}
