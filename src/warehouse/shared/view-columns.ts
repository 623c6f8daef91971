import { freeName } from './free-name.js';

/**
 * What the columns of a job are called where names must be unique whatever their case (its view, its files): the
 * user's own first, a result that clashes with a name before it gets `result_` in front. `cut` cuts a name to what the database
 * takes and leaves room for the suffix.
 */
export function viewColumns(
  columns: readonly string[],
  resultNames: readonly string[],
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
  const results = resultNames.map((column, index) => {
    const wanted = column === '' ? `result_${index + 1}` : column;
    return take(freeName(cut(wanted, ''), taken, (_name, turn) => cut(`${'result_'.repeat(turn - 1)}${wanted}`, '')));
  });
  return { own, results };
}
