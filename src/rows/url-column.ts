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
 * The column of URLs. `by`: whether the column was found by an option, by the job's last run, by the name of the column or by its
 * contents.
 */
export interface UrlColumn {
  readonly index: number;
  readonly by: 'option' | 'job' | 'name' | 'contents';
}

export interface UrlColumnSearch {
  /** The requested column; null: no column is requested. */
  readonly wanted: string | null;
  /** The column of the job's last run. This column is used if the table still has it. */
  readonly kept?: string | null;
  /** The first rows of the table. The cells of these rows are checked for URLs. */
  readonly rows: readonly (readonly (string | null)[])[];
}

const noColumn = (why: string): CsvError => new CsvError('url-column-unknown', why, 1);

/** Finds the column of URLs. Throws `CsvError` if there is no candidate or more than one candidate. */
export function findUrlColumn(columns: readonly string[], { wanted, kept = null, rows }: UrlColumnSearch): UrlColumn {
  if (wanted !== null) {
    const index = columns.indexOf(wanted);
    if (index !== -1) return { index, by: 'option' };
    throw noColumn(`There is no column ${quoted(wanted)}; the columns are ${list(columns)}`);
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
  if (found.length === 0)
    throw noColumn(
      `No column contains URLs or has a usual name for them. Name the URL column (--url-column, or urlField of enrichRows); the columns are ${list(columns)}`,
    );
  throw noColumn(
    `Several columns may be the URL column: ${list(found.map((index) => columns[index] as string))}. Name one (--url-column, or urlField of enrichRows)`,
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
