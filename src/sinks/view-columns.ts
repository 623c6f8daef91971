import { freeName } from './free-name.js';

/** Columns of `enriched_rows` that a job's view shows behind the user's own. */
export const resultColumns: readonly string[] = [
  'status',
  'error_tag',
  'error_message',
  'http_status',
  'title',
  'author',
  'published_date',
  'text',
  'highlights',
  'summary',
  'response',
  'request_id',
  'cost_dollars',
  'fetched_at',
  'row_number',
];

/**
 * What the columns of a job are called where names must be unique whatever their case (its view, its Parquet files): the
 * user's own first, a result that clashes with one of them gets `result_` before it. `cut` cuts a name to what the database
 * takes and leaves room for the suffix.
 */
export function viewColumns(
  columns: readonly string[],
  cut: (name: string, suffix: string) => string = (name, suffix) => `${name}${suffix}`,
): { readonly own: readonly string[]; readonly results: readonly string[] } {
  const taken = new Set<string>();
  const take = (name: string) => {
    taken.add(name.toLowerCase());
    return name;
  };
  const own = columns.map((column, index) => {
    const wanted = column === '' ? `column_${index + 1}` : column;
    return take(freeName(cut(wanted, ''), taken, (_name, turn) => cut(wanted, `_${turn}`)));
  });
  const results = resultColumns.map((column) =>
    take(freeName(column, taken, (wanted, turn) => `${'result_'.repeat(turn - 1)}${wanted}`)),
  );
  return { own, results };
}
