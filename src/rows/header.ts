import { CsvError, quoted } from './csv-error.js';
import type { RowRecord } from './row-reader.js';

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

/**
 * Checks the first record as a header; returns its columns. The second column with a name gets a number
 * (`url_2`), and columns without a name get their position (`column_3`). A single column without a name keeps it, because spreadsheets and
 * data frames write such headers.
 */
export function readHeader(record: CsvRecord): NamedColumns {
  const { cells, line, problem } = record;
  if (problem?.tag === 'CSV_RAGGED')
    throw new CsvError('input-too-large', `line ${line}: more than ${MAX_CELLS} columns, which is the limit`, line);
  if (problem)
    throw new CsvError(
      'header-invalid',
      `line ${line}, column ${problem.column}: ${problem.message}; the header cannot be read`,
      line,
    );
  for (const [index, name] of cells.entries()) {
    if (name.includes('\0'))
      throw new CsvError(
        'header-invalid',
        `line ${line}, column ${index + 1}: a NUL byte in the header`,
        line,
        index + 1,
      );
  }
  return nameColumns(cells);
}

/** Columns with different names. `renamed`: columns that got another name than their own, with positions from 1. */
export interface NamedColumns {
  readonly names: readonly string[];
  readonly renamed: readonly { readonly column: number; readonly name: string }[];
}

export function nameColumns(names: readonly string[]): NamedColumns {
  if (names.length > MAX_CELLS)
    throw new CsvError('input-too-large', `More than ${MAX_CELLS} columns, which is the limit`, 1);
  const unique = uniqueNames(names);
  const renamed = unique.flatMap((name, index) => (name === names[index] ? [] : [{ column: index + 1, name }]));
  return { names: unique, renamed };
}

/** The first difference between the columns of two files, as a part of a sentence; null if they are equal. */
export function whyOtherColumns(before: readonly string[], now: readonly string[]): string | null {
  const lacking = before.find((name) => !now.includes(name));
  if (lacking !== undefined) return `it lacks ${quoted(lacking)}`;
  const added = now.find((name) => !before.includes(name));
  if (added !== undefined) return `it has ${quoted(added)}, too`;
  const at = now.findIndex((name, index) => name !== before[index]);
  return at === -1 ? null : `column ${at + 1} is ${quoted(now[at] as string)} and not ${quoted(before[at] as string)}`;
}

export const otherColumns = (file: string, first: string, why: string) =>
  new CsvError(
    'columns-differ',
    `${file} has other columns than ${first}: ${why}. All files of one input need the same columns`,
  );

function uniqueNames(cells: readonly string[]): readonly string[] {
  const nameless = cells.filter((name) => name === '').length;
  const taken = new Set(cells);
  const seen = new Set<string>();
  return cells.map((name, index) => {
    const isUnique = name === '' ? nameless === 1 : !seen.has(name);
    seen.add(name);
    if (isUnique) return name;
    const [stem, first] = name === '' ? ['column', index + 1] : [name, 2];
    for (let number = first; ; number++) {
      const made = `${stem}_${number}`;
      if (taken.has(made)) continue;
      taken.add(made);
      return made;
    }
  });
}
