import { CsvError, cellPosition } from './csv-error.js';
import { CsvParser, findMisplacedQuote, type MisplacedQuote, type ReadRecords } from './csv-parser.js';
import { type CsvFormat, type CsvRecord, MAX_CELLS, MAX_RECORD } from './header.js';

const MIB = MAX_RECORD / 1024 / 1024;

/** Delimiters that are detected. Of equally frequent delimiters the earlier delimiter is chosen. */
const delimiters = [',', ';', '\t', '|'];
const [LF, CR, QUOTE] = [10, 13, 34];
/** A first line that tells spreadsheets the delimiter: `sep=;`. */
const separatorLine = /^("?)sep=([^"\r\n])\1(\r\n|\n|\r(?=[^\n]))/i;
/** Maximum number of bytes of such a line. */
const MAX_SEPARATOR_LINE = 12;
/** Fewer records than this between two problems make the reader read more lines alone. */
const FEW_RECORDS = 32;
/** Maximum number of lines that are read alone at a time. */
const MAX_LINES = 1024;

/** Bytes that are parsed at a time, and records that are returned at a time: what follows a quote that is never closed may be millions. */
const [PIECE, MOST_RECORDS] = [262_144, 65_536];

/** A physical line: its indexes without and with its line end, and its number from 1. */
interface Line {
  readonly start: number;
  readonly end: number;
  readonly next: number;
  readonly number: number;
}

/**
 * Splits text into CSV records (RFC 4180; line ends are LF, CRLF or CR as in the first line; blank lines are skipped).
 *
 * csv-parse reads the records strictly. Where it finds a misplaced quote, the first line of the record is read alone, and a quote in an
 * unquoted cell is a character like others. The line is a record if it has as many cells as the header; otherwise it is a bad record. The
 * next line is then read strictly again, so a bad record never includes a line of another record.
 */
export class CsvRecords {
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  #line = 1;
  #delimiter: string | null;
  #format: CsvFormat | null = null;
  #parser: CsvParser | null = null;
  /** Number of cells of the header. Null until the header is read. */
  #width: number | null = null;
  /** Number of unread bytes at which a record with an open quote is tried again. */
  #retryAt = 0;
  /** Number of lines that are read alone after the next problem. The number grows with the frequency of problems. */
  #lines = 1;

  #isBehind = false;

  /** The default delimiter is the most frequent of `, ; tab |` in the first line, outside of quotes. */
  constructor(delimiter: string | null) {
    this.#delimiter = delimiter;
  }

  get delimiter(): string | null {
    return this.#delimiter;
  }

  /** Whether records are complete that the last call did not return: another call, without text, returns more. */
  get isBehind(): boolean {
    return this.#isBehind;
  }

  /** Adds a piece of text; returns records that are complete. Throws `CsvError` for a line that is too large. */
  read(text: string, last: boolean): CsvRecord[] {
    const rest = this.#bytes.subarray(this.#at);
    this.#bytes = rest.length === 0 ? Buffer.from(text) : Buffer.concat([rest, Buffer.from(text)]);
    this.#at = 0;
    this.#format ??= this.#sniff(last);
    // The last line of a file may end in the middle of CRLF.
    if (last && this.#lineEnd === LF && this.#bytes.at(-1) === CR)
      this.#bytes = Buffer.concat([this.#bytes, Buffer.from('\n')]);
    const records: CsvRecord[] = [];
    this.#isBehind = false;
    if (this.#format !== null && (last || this.#bytes.length > Math.min(this.#retryAt, MAX_RECORD))) {
      this.#parser ??= new CsvParser(this.#format);
      this.#readBlock(this.#parser, this.#format, last, records);
    }
    if (!this.#isBehind) this.#checkSize(this.#at, this.#bytes.length);
    return records;
  }

  #readBlock(parser: CsvParser, format: CsvFormat, last: boolean, records: CsvRecord[]): void {
    const end = last ? this.#bytes.length : this.#bytes.lastIndexOf(format.lineEnd) + 1;
    this.#retryAt = 0;
    while (this.#at < end) {
      const before = records.length;
      this.#isBehind = before >= MOST_RECORDS;
      if (this.#isBehind) return;
      const reading = this.#readStrictly(parser, format, end, records);
      if (reading === 'complete') return;
      const unread = this.#bytes.length - this.#at;
      if (reading === 'open' && !last && unread <= MAX_RECORD) {
        this.#retryAt = 2 * unread;
        return;
      }
      this.#lines = records.length - before < FEW_RECORDS ? Math.min(2 * this.#lines, MAX_LINES) : 1;
      this.#readAlone(parser, format, end, records);
    }
  }

  /** Reads records up to `end`, a problem, or a record that may continue after `end`. */
  #readStrictly(parser: CsvParser, format: CsvFormat, end: number, records: CsvRecord[]): ReadRecords['end'] {
    for (let size = PIECE; ; ) {
      const before = this.#at;
      const to = this.#pieceEnd(size, end);
      const reading = this.#readPiece(parser, format, to, records);
      if (to === end || reading === 'misplaced') return reading;
      this.#isBehind = records.length >= MOST_RECORDS;
      if (this.#isBehind) return 'complete';
      size = reading === 'open' || this.#at === before ? 2 * size : PIECE;
    }
  }

  /** Returns the end of the last line within `size` bytes, or within the first multiple of them that ends one. */
  #pieceEnd(size: number, end: number): number {
    for (let bytes = size; this.#at + bytes < end; bytes *= 2) {
      const found = this.#bytes.lastIndexOf(this.#lineEnd, this.#at + bytes - 1);
      if (found >= this.#at) return found + 1;
    }
    return end;
  }

  #readPiece(parser: CsvParser, format: CsvFormat, end: number, records: CsvRecord[]): ReadRecords['end'] {
    const block = this.#bytes.subarray(this.#at, end);
    const mayHaveLines = block.includes(QUOTE);
    const reading = parser.readRecords(block);
    for (const cells of reading.rows) {
      this.#skipBlankLines(end);
      const lines = mayHaveLines ? 1 + linesWithin(cells, format.lineEnd) : 1;
      const next = this.#indexAfter(lines, end);
      if (next - this.#at > MAX_RECORD) {
        this.#checkSize(this.#at, this.#lineAt(this.#at, next).next);
        return 'misplaced';
      }
      records.push(this.#record(cells, this.#at, next));
      this.#line += lines;
      this.#at = next;
    }
    this.#skipBlankLines(end);
    return reading.end;
  }

  #indexAfter(lines: number, end: number): number {
    let at = this.#at;
    for (let line = 0; line < lines; line++) {
      const found = this.#bytes.indexOf(this.#lineEnd, at);
      if (found === -1) return end;
      at = found + 1;
    }
    return at;
  }

  /**
   * Reads lines alone, at most `#lines` and up to `end`. A problem was found in the record that begins with the first of them. A later line
   * that may begin a record of several lines ends the reading.
   */
  #readAlone(parser: CsvParser, format: CsvFormat, end: number, records: CsvRecord[]): void {
    const lines: Line[] = [];
    for (let [at, number] = [this.#at, this.#line]; at < end && lines.length < this.#lines; number++) {
      const line = this.#lineAt(at, end);
      this.#checkSize(at, line.next);
      if (line.end > at) lines.push({ ...line, number });
      at = line.next;
    }
    const texts = lines.map((line) => this.#bytes.subarray(line.start, line.end));
    const closed = texts.map((text) => withoutSpaces(text, format));
    const rows = parser.readLines(texts.map((text, index) => closed[index] ?? text));
    for (const [index, line] of lines.entries()) {
      [this.#at, this.#line] = [line.start, line.number];
      const cells = rows[index] ?? null;
      const record =
        cells !== null && closed[index] != null
          ? this.#record(cells, line.start, line.next)
          : cells === null
            ? this.#openLine(line, format, end, index > 0)
            : this.#closedLine(cells, line, format);
      if (record === null) {
        this.#lines = index;
        return;
      }
      this.#width ??= record.cells.length;
      records.push(record);
      [this.#at, this.#line] = [line.next, line.number + 1];
    }
  }

  /** Returns the record of a line without an open quote. In a line of the right number of cells, an unquoted cell may have quotes. */
  #closedLine(cells: string[], line: Line, format: CsvFormat): CsvRecord {
    const isWhole = cells.length === this.#width;
    const quote = findMisplacedQuote(this.#bytes.subarray(0, line.end), line.start, format, isWhole);
    if (quote === null || cells.length > MAX_CELLS) return this.#record(cells, line.start, line.next);
    return this.#malformed(line, quote);
  }

  /** Returns the bad record of a line with an open quote; null if the line may begin a record of several lines. */
  #openLine(line: Line, format: CsvFormat, end: number, mayBegin: boolean): CsvRecord | null {
    const limit = Math.min(end, line.start + MAX_RECORD);
    const quote = findMisplacedQuote(this.#bytes.subarray(0, limit), line.start, format);
    return mayBegin && (quote === null || quote.found === null) ? null : this.#malformed(line, quote);
  }

  #record(cells: string[], start: number, next: number): CsvRecord {
    this.#width ??= cells.length;
    const line = this.#line;
    if (cells.length <= MAX_CELLS) return { line, cells, problem: null };
    const text = this.#text(start, this.#lineAt(start, next).end);
    const message = `more than ${MAX_CELLS} cells in one row`;
    return { line, cells: [text], problem: { tag: 'CSV_RAGGED', column: MAX_CELLS + 1, message } };
  }

  #malformed({ start, end, number }: Line, quote: MisplacedQuote | null): CsvRecord {
    const bad = (column: number, message: string): CsvRecord => ({
      line: number,
      cells: [this.#text(start, end)],
      problem: { tag: 'CSV_INVALID', column, message },
    });
    if (quote === null) return bad(1, `the row has misplaced quotes, or more than ${MIB} MiB`);
    const { column, opened, found } = quote;
    const open = this.#positionOf(start, opened);
    if (found === opened)
      return bad(column, `a quote in the middle of a cell that does not begin with one (character ${open.character})`);
    if (found !== null) {
      const text = this.#positionOf(start, found);
      return bad(
        column,
        `the cell begins with a quote (character ${open.character}), but has text after its closing quote (line ${text.line}, character ${text.character})`,
      );
    }
    const where = this.#bytes.length - start > MAX_RECORD ? `not closed within ${MIB} MiB` : 'never closed';
    return bad(
      column,
      `a quote is opened here (character ${open.character}) and ${where}; close it, or double it if it belongs to the text`,
    );
  }

  /** Throws if a line is above the limit. The message names the largest cell of the line, or an unclosed quote. */
  #checkSize(start: number, end: number): void {
    if (end - start <= MAX_RECORD) return;
    const delimiter = (this.#delimiter ?? ',').charCodeAt(0);
    let [column, cell, open] = [1, start, -1];
    for (let at = start; at < start + MAX_RECORD; at++) {
      const byte = this.#bytes[at];
      if (byte === QUOTE) open = open === -1 ? at : -1;
      else if (open === -1 && byte === delimiter) [column, cell] = [column + 1, at + 1];
    }
    const { line, character } = this.#positionOf(start, open === -1 ? cell : open);
    const why = open === -1 ? 'the cell that begins here' : 'the quote that is opened here';
    throw new CsvError(
      'input-too-large',
      `${cellPosition({ line }, column, undefined)}, character ${character}: ${why} makes a row of more than ${MIB} MiB, which is the limit`,
      line,
      column,
    );
  }

  #skipBlankLines(end: number): void {
    const lineEnd = this.#lineEnd;
    for (; this.#at < end; this.#line++) {
      if (this.#bytes[this.#at] === lineEnd) this.#at++;
      else if (lineEnd === LF && this.#bytes[this.#at] === CR && this.#bytes[this.#at + 1] === LF) this.#at += 2;
      else return;
    }
  }

  #lineAt(start: number, limit: number): Omit<Line, 'number'> {
    const found = this.#bytes.indexOf(this.#lineEnd, start);
    if (found === -1 || found >= limit) return { start, end: limit, next: limit };
    const isCrlf = this.#lineEnd === LF && found > start && this.#bytes[found - 1] === CR;
    return { start, end: isCrlf ? found - 1 : found, next: found + 1 };
  }

  get #lineEnd(): number {
    return this.#format?.lineEnd === '\r' ? CR : LF;
  }

  #positionOf(start: number, at: number): { line: number; character: number } {
    const before = this.#bytes.subarray(start, at);
    const character = this.#text(start + before.lastIndexOf(this.#lineEnd) + 1, at).length + 1;
    return { line: this.#line + this.#linesBetween(start, at), character };
  }

  #linesBetween(start: number, end: number): number {
    let lines = 0;
    for (let at = start; at < end; lines++) {
      const found = this.#bytes.indexOf(this.#lineEnd, at);
      if (found === -1 || found >= end) break;
      at = found + 1;
    }
    return lines;
  }

  #text(start: number, end: number): string {
    return this.#bytes.toString('utf8', start, end);
  }

  /**
   * Detects line end and delimiter from the first line that is not blank. A line such as `sep=;` before that line names the delimiter and is
   * skipped. Returns null until the line is complete.
   */
  #sniff(last: boolean): CsvFormat | null {
    if (this.#line === 1) {
      if (this.#bytes.length <= MAX_SEPARATOR_LINE && !last) return null;
      const found = separatorLine.exec(this.#text(0, Math.min(MAX_SEPARATOR_LINE + 1, this.#bytes.length)));
      if (found !== null) {
        this.#delimiter ??= found[2] as string;
        this.#line = 2;
        this.#bytes = this.#bytes.subarray(Buffer.byteLength(found[0]));
      }
    }
    const bytes = this.#bytes;
    const counts = new Map<number, number>(delimiters.map((name) => [name.charCodeAt(0), 0]));
    let open = false;
    let at = 0;
    let seen = false;
    for (; at < bytes.length; at++) {
      const byte = bytes[at] as number;
      if (byte === QUOTE) open = !open;
      else if (!open && (byte === LF || byte === CR)) {
        if (seen) break;
        continue;
      } else if (!open && counts.has(byte)) counts.set(byte, (counts.get(byte) as number) + 1);
      seen = true;
    }
    if (at >= bytes.length - 1 && !last) return null;
    const most = Math.max(...counts.values());
    this.#delimiter ??=
      most === 0 ? ',' : (delimiters.find((name) => counts.get(name.charCodeAt(0)) === most) as string);
    return { delimiter: this.#delimiter, lineEnd: bytes[at] === CR && bytes[at + 1] !== LF ? '\r' : '\n' };
  }
}

/** Returns a line without the white space around its quoted cells, as in `a, "b"`; null if the line has none, or another problem. */
function withoutSpaces(line: Buffer, format: CsvFormat): Buffer | null {
  if (findMisplacedQuote(line, 0, format) === null) return null;
  const delimiter = format.delimiter.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
  const space = `(?:(?!${delimiter})[ \\t\\u00a0\\ufeff])*`;
  const cell = new RegExp(`${space}("[^"]*(?:""[^"]*)*")${space}(?=${delimiter}|$)|[^"]*?(?=${delimiter}|$)`, 'uy');
  const text = line.toString();
  const cells: string[] = [];
  for (;;) {
    const found = cell.exec(text);
    if (found === null) return null;
    cells.push(found[1] ?? found[0]);
    const end = cell.lastIndex;
    if (end === text.length) return Buffer.from(cells.join(format.delimiter));
    cell.lastIndex = end + format.delimiter.length;
  }
}

function linesWithin(cells: readonly string[], lineEnd: string): number {
  let lines = 0;
  for (const cell of cells) if (cell.includes(lineEnd)) lines += cell.split(lineEnd).length - 1;
  return lines;
}
