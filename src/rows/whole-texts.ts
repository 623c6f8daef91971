import { isJson } from '../core/rows/column-type.js';
import { withoutMarks } from '../core/text/value-forms.js';
import { nameColumns } from './header.js';
import type { OpenedTable, RowColumn, RowRecord } from './row-reader.js';

const REPLACED = '\ufffd';
/** An escaped backslash, an escaped pair, or NUL or half of a pair as an escape, which is captured. */
const escapes =
  /\\\\|\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(\\u(?:0000|[dD][89a-fA-F][\da-fA-F]{2}))/g;

/** Replaces half surrogate pairs, which are no characters: no database can hold them, and a job could not load what it bought. */
const whole = (text: string): string => text.replace(/\p{Cs}/gu, REPLACED);

const wholeJson = (json: string): string =>
  whole(json).replace(escapes, (found, half: string | undefined) => (half === undefined ? found : REPLACED));

/**
 * Returns a table whose texts every warehouse can hold: half a surrogate pair becomes U+FFFD in cells, in JSON and in names, and NUL in
 * JSON and in names. A byte order mark before a name goes.
 * Columns that then have the same name get different names.
 */
export function wholeTexts(table: OpenedTable): OpenedTable {
  const { columns } = table;
  const isJsonAt = columns.map(({ type }) => isJson(type));
  const { names } = nameColumns(columns.map(({ name }) => withoutMarks(whole(name).replaceAll('\0', REPLACED))));
  const renamed = names.flatMap((name, index) => (name === columns[index]?.name ? [] : [{ column: index + 1, name }]));
  return {
    ...table,
    columns: columns.map((column, index): RowColumn => ({ ...column, name: names[index] as string })),
    renamed: [...table.renamed.filter(({ column }) => !renamed.some((one) => one.column === column)), ...renamed],
    async *batches() {
      for await (const batch of table.batches()) yield batch.map((record) => wholeRecord(record, isJsonAt));
    },
  };
}

function wholeRecord(record: RowRecord, isJsonAt: readonly boolean[]): RowRecord {
  const json = JSON.stringify(record.cells);
  // JSON writes half of a pair as an escape.
  if (!/\\u(?:[dD]|0000)/.test(json)) return { ...record, json };
  const cells = record.cells.map((cell, index) => {
    if (cell === null) return null;
    return isJsonAt[index] ? wholeJson(cell) : whole(cell);
  });
  return { ...record, cells, json: JSON.stringify(cells) };
}
