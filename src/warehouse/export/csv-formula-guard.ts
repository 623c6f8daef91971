import { resultSql } from '../rows/duckdb-result-sql.js';
import type { ResultColumn } from '../rows/result-column.js';
import { storedType } from '../rows/row-tables.js';
import type { JobRows } from './file-parts.js';

/** Values that are not text are safe, and so is the status, a word of searchflow. */
const texts: readonly string[] = ['text', 'string', 'json', 'array', 'object'];

function isFromWeb({ from }: ResultColumn): boolean {
  if ('stored' in from) return from.stored !== 'status' && texts.includes(storedType(from.stored) ?? '');
  return 'path' in from && texts.includes(from.type);
}

const CONTROLS = String.raw`[\x00-\x08\x0b-\x1f\x7f]`;
// A formula may follow white space of any kind, also invisible kinds. Some spreadsheets also read full-width signs as formulas.
const FORMULA = String.raw`^[\s\p{Z}\p{Cf}]*[=+\-@＝＋－＠]|^\t`;
// A spreadsheet that separates cells by semicolon or tab ignores our quotes in the middle of a cell. Such a spreadsheet reads the text
// after a semicolon, tab or line feed as a new cell. Many harmless lines begin with a sign (lists, rules). So in the middle only harmful
// formulas count: a call, a command (DDE) or a reference to another file.
const middleOf = (separators: string) =>
  String.raw`([${separators}][\s\p{Z}\p{Cf}"'']*)([=+\-@＝＋－＠][^${separators}]*?(?:[\pL\d_.]\(|\|\s*''|!\s*[$''_\pL]))`;
// In a file without commas as delimiters, a spreadsheet that separates cells by comma ignores our quotes, too.
const MIDDLE = middleOf(String.raw`;\t\n`);
const MIDDLE_OR_COMMA = middleOf(String.raw`,;\t\n`);

/** The cells after the last column as a JSON list; NULL without such cells. Empty cells are NULL here, and empty texts in the list. */
const extraCells = (columns: number): string =>
  `CASE WHEN len(input) > ${columns} THEN CAST(to_json(list_transform(input[${columns + 1}:], lambda cell: coalesce(cell, ''))) AS VARCHAR) END`;

/**
 * Query of the enriched CSV of `source`, a part of a job, with the columns `added`, in the order of the rows. Cells of the input are unchanged. An empty cell of a CSV is NULL, so
 * that nothing is written; if columns have types, only NULL writes nothing, and an empty text is `""`. In texts from the web, `\u0000`
 * replaces NUL, and the other control characters are removed, except line feed and tab. These texts also get an apostrophe in front of
 * anything that a spreadsheet would read as a formula, with any separator. The query has layers, so that the JSON of a row is read once and
 * each text is searched once. The outermost layer splits the input into its cells, because there may be thousands of cells.
 */
export function guardedCsvQuery(
  { columns, types, hasExtraCells }: JobRows,
  added: readonly ResultColumn[],
  delimiter: string,
  source: string,
): string {
  const middle = delimiter === ',' ? MIDDLE : MIDDLE_OR_COMMA;
  const own = columns.map((_, index) => `input[${index + 1}]`);
  const { inner, shown } = resultSql(added, true);
  // Names of our own, because the columns may have any name.
  const names = added.map((_, index) => `added_${index + 1}`);
  const replace = (value: (name: string) => string) => {
    const web = names.filter((_, index) => isFromWeb(added[index] as ResultColumn));
    return web.map((name) => `${value(name)} AS ${name}`).join(', ');
  };
  const cleaned = replace(
    (name) =>
      `CASE WHEN regexp_matches(${name}, '${CONTROLS}') THEN regexp_replace(replace(${name}, chr(0), '\\u0000'), '${CONTROLS}', '', 'g') ELSE ${name} END`,
  );
  const apart = replace(
    (name) =>
      `CASE WHEN regexp_matches(${name}, '${middle}') THEN regexp_replace(${name}, '${middle}', '\\1''\\2', 'g') ELSE ${name} END`,
  );
  const harmless = replace(
    (name) => `CASE WHEN regexp_matches(${name}, '${FORMULA}') THEN '''' || ${name} ELSE ${name} END`,
  );
  const extra = hasExtraCells ? [extraCells(columns.length)] : [];
  return `SELECT ${[...own, ...names, ...extra].join(', ')} FROM (SELECT * REPLACE (${harmless}) FROM (SELECT * REPLACE (${apart}) FROM (SELECT * REPLACE (${cleaned}) FROM (
    SELECT ${['input', ...shown.map((expression, index) => `${expression} AS ${names[index]}`)].join(', ')} FROM (
      SELECT ${[types === null ? "* REPLACE (list_transform(input, lambda cell: nullif(cell, '')) AS input)" : '*', 'cost_micros / 1000000 AS cost_dollars', ...inner].join(', ')}
      FROM (${source}) ORDER BY row_number)))))`;
}
