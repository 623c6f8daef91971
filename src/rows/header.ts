import { CsvError, quoted } from './csv-error.js';
import { type CsvRecord, MAX_CELLS } from './csv-records.js';

/** Names (in any case, without white space around) by which a column of URLs is known when nobody says which it is. */
export const urlColumnNames: readonly string[] = [
  'url',
  'urls',
  'uri',
  'link',
  'links',
  'href',
  'website',
  'web site',
  'website url',
  'website_url',
  'homepage',
  'webpage',
  'page',
  'page url',
  'page_url',
  'source',
  'source url',
  'source_url',
];

/**
 * Checks the first record as a header, and gives its columns. One may be without a name (spreadsheets and data frames
 * write one so); two of one name are refused.
 */
export function readHeader(record: CsvRecord): readonly string[] {
  const { cells: columns, line, problem } = record;
  if (problem?.tag === 'CSV_RAGGED')
    throw new CsvError(`line ${line}: more than ${MAX_CELLS} columns, which is the limit`, line);
  if (problem)
    throw new CsvError(`line ${line}, column ${problem.column}: ${problem.message}; the header can't be read`, line);
  const first = new Map<string, number>();
  for (const [index, name] of columns.entries()) {
    if (name.includes('\0'))
      throw new CsvError(`line ${line}, column ${index + 1}: a NUL byte in the header`, line, index + 1);
    const earlier = first.get(name);
    if (earlier === undefined) first.set(name, index);
    else {
      const both = `line ${line}: columns ${earlier + 1} and ${index + 1}`;
      const what = name === '' ? 'have no name' : `are both named ${quoted(name)}`;
      throw new CsvError(`${both} ${what}; give each column a name of its own`, line, index + 1);
    }
  }
  return columns;
}

/** Index of the column of URLs; `wanted` null: the only one named like one. */
export function findUrlColumn(columns: readonly string[], wanted: string | null): number {
  if (wanted !== null) {
    const index = columns.indexOf(wanted);
    if (index !== -1) return index;
    throw new CsvError(`There is no column ${quoted(wanted)}; the columns are ${list(columns)}`);
  }
  const found = columns.filter((name) => urlColumnNames.includes(name.trim().toLowerCase()));
  if (found.length === 1) return columns.indexOf(found[0] as string);
  const ask = 'say which column holds the URLs (--url-column)';
  if (found.length === 0)
    throw new CsvError(`No column is named like one of URLs: ${ask}; the columns are ${list(columns)}`);
  throw new CsvError(`More than one column may hold the URLs: ${ask}, one of ${list(found)}`);
}

function list(names: readonly string[]): string {
  const shown = names.slice(0, 30).map(quoted).join(', ');
  return names.length > 30 ? `${shown} and ${names.length - 30} more` : shown;
}
