import { withoutNul } from './mend-escapes.js';

/**
 * Returns the column names of a job for its view and files, where names must differ in more than case. The user's own columns
 * come first. A result column whose name is taken gets the prefix `result_`. `cut` cuts a name to the limit of the database and
 * leaves space for the suffix. `reserved`: names, in lower case, that no column may have.
 */
export function viewColumns(
  columns: readonly string[],
  resultNames: readonly string[],
  cut: (name: string, suffix: string) => string = (name, suffix) => `${name}${suffix}`,
  reserved: readonly string[] = [],
): { readonly own: readonly string[]; readonly results: readonly string[] } {
  const taken = new Set<string>(reserved);
  const take = (name: string) => {
    taken.add(name.toLowerCase());
    return name;
  };
  const own = columns.map((column, index) => {
    const wanted = column === '' ? `column_${index + 1}` : column;
    return take(freeName(cut(wanted, ''), taken, (_name, number) => cut(wanted, `_${number}`)));
  });
  const results = resultNames.map((column, index) => {
    const wanted = column === '' ? `result_${index + 1}` : column;
    return take(
      freeName(cut(wanted, ''), taken, (_name, number) => cut(`${'result_'.repeat(number - 1)}${wanted}`, '')),
    );
  });
  return { own, results };
}

/** A name that is not taken yet; names that differ only in case are one name to a database. */
export function freeName(
  wanted: string,
  taken: ReadonlySet<string>,
  next: (name: string, number: number) => string,
): string {
  let name = wanted;
  for (let number = 2; taken.has(name.toLowerCase()); number++) name = next(wanted, number);
  return name;
}

/** Bytes to which PostgreSQL cuts a name. */
const MAX_NAME = 63;

/** A name with its suffix for PostgreSQL, cut to the limit of names. */
export function cutName(name: string, suffix: string): string {
  let text = withoutNul(name).slice(0, MAX_NAME);
  while (Buffer.byteLength(text + suffix) > MAX_NAME) text = [...text].slice(0, -1).join('');
  return text + suffix;
}
