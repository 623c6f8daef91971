import { type CsvRecord, MAX_CELLS } from './csv/csv-record.js';
import { CsvError, quoted } from './csv-error.js';
import { toUrl } from './url-problem.js';

/** Names by which a column of URLs is detected, in any case and without surrounding white space. */
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

/** Less specific names of a column of URLs. These names count only if no column that contains URLs has a name of `urlColumnNames`. */
const otherUrlColumnNames: readonly string[] = [
  'domain',
  'domains',
  'domain name',
  'site',
  'web',
  'webseite',
  'homepage url',
  'homepage_url',
  'company url',
  'company_url',
  'company website',
  'company_website',
  'company domain',
  'company_domain',
];

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

/** Gives all columns different names, like `readHeader`. */
export function nameColumns(names: readonly string[]): NamedColumns {
  if (names.length > MAX_CELLS)
    throw new CsvError('input-too-large', `More than ${MAX_CELLS} columns, which is the limit`);
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

/** The error of a file whose columns differ from those of the first file. */
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

/**
 * The column of URLs. `by`: whether the column was found by an option, by the job's last run, by the name of the column or by its
 * contents.
 */
export interface UrlColumn {
  readonly index: number;
  readonly by: 'option' | 'job' | 'name' | 'contents';
}

/** The criteria of the detection of the column of URLs. */
export interface UrlColumnSearch {
  /** The requested column; null: no column is requested. */
  readonly wanted: string | null;
  /** The column of the job's last run. This column is used if the table still has it. */
  readonly kept?: string | null;
  /** The first rows of the table. The cells of these rows are checked for URLs. */
  readonly rows: readonly (readonly (string | null)[])[];
}

/** Finds the column of URLs. Throws `CsvError` if there is no candidate or more than one candidate. */
export function findUrlColumn(columns: readonly string[], { wanted, kept = null, rows }: UrlColumnSearch): UrlColumn {
  if (wanted !== null) {
    const index = columns.indexOf(wanted);
    if (index !== -1) return { index, by: 'option' };
    throw new CsvError('url-column-unknown', `There is no column ${quoted(wanted)}; the columns are ${list(columns)}`);
  }
  const before = kept === null ? -1 : columns.indexOf(kept);
  if (before !== -1) return { index: before, by: 'job' };
  const counts = columns.map((_, index) => countUrls(rows, index));
  const full = counts.flatMap(({ urls, filled }, index) => (urls > 0 && 2 * urls >= filled ? [index] : []));
  const most = Math.max(0, ...full.map((index) => counts[index]?.urls ?? 0));
  // The name of a column counts only if the column has at least half as many URLs as the column with the most URLs.
  const likely = full.filter((index) => 2 * (counts[index]?.urls ?? 0) >= most);
  const named = (among: readonly number[], names: readonly string[]) =>
    among.filter((index) => names.includes((columns[index] as string).trim().toLowerCase()));
  const all = [...columns.keys()];
  const explicit = likely.filter((index) => 2 * (counts[index]?.withScheme ?? 0) >= (counts[index]?.filled ?? 0));
  const steps = [
    [named(likely, urlColumnNames), 'name'],
    [named(likely, otherUrlColumnNames), 'name'],
    [explicit, 'contents'],
    [likely, 'contents'],
    [named(all, urlColumnNames), 'name'],
  ] as const;
  const [found, by] = steps.find(([among]) => among.length > 0) ?? [[], 'name'];
  if (found.length === 1) return { index: found[0] as number, by };
  if (found.length === 0) {
    throw new CsvError(
      'url-column-unknown',
      `No column contains URLs or has a usual name for them. Name the URL column with --url-column; the columns are ${list(columns)}`,
    );
  }
  throw new CsvError(
    'url-column-unknown',
    `Several columns may be the URL column: ${list(found.map((index) => columns[index] as string))}. Name one with --url-column`,
  );
}

/** Counts the non-empty cells of a column, and the URLs among them, with and without a scheme. */
function countUrls(rows: readonly (readonly (string | null)[])[], index: number) {
  const counts = { filled: 0, urls: 0, withScheme: 0 };
  for (const cells of rows) {
    const text = cells[index]?.trim() ?? '';
    if (text === '') continue;
    counts.filled++;
    if (toUrl(text, null) !== null) counts.withScheme++;
    if (toUrl(text, 'https') !== null) counts.urls++;
  }
  return counts;
}

function list(names: readonly string[]): string {
  const shown = names.slice(0, 30).map(quoted).join(', ');
  return names.length > 30 ? `${shown} and ${names.length - 30} more` : shown;
}
