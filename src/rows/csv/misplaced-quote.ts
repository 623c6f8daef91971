import type { CsvFormat } from './csv-record.js';

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
