import { resultSql } from '../duckdb/dialect/result-sql.js';
import type { ResultColumn } from '../rows/result-column.js';

/** Stored columns that hold nothing from the web; nor do values that are no text. */
const ours: readonly string[] = ['status', 'http_status', 'cost_dollars', 'fetched_at'];
const texts: readonly string[] = ['text', 'string', 'json'];

function isFromWeb({ from }: ResultColumn): boolean {
  if ('stored' in from) return !ours.includes(from.stored);
  return 'path' in from && texts.includes(from.type);
}

const CONTROLS = String.raw`[\x00-\x08\x0b-\x1f\x7f]`;
// Behind any white space, also the kind that is not seen; the full-width signs are formulas, too, to some spreadsheets.
const FORMULA = String.raw`^[\s\p{Z}\p{Cf}]*[=+\-@＝＋－＠]|^\t`;
// A spreadsheet that separates cells by semicolon or tab does not see our quotes in the middle of a cell: what follows such a separator, or
// a line feed, is a cell to it. Texts are full of lines that begin with a sign (lists, rules), so only what can do harm counts there: a
// call, a command (DDE) or a reference to another file.
const MIDDLE = String.raw`([;\t\n][\s\p{Z}\p{Cf}"'']*)([=+\-@＝＋－＠][^;\t\n]*?(?:[\pL\d_.]\(|\|\s*''|!\s*[$''_\pL]))`;

/**
 * The rows of `source` (see `JobRows.part`) in their order. The input's cells are as they came (an empty one is NULL, so that it is written
 * as nothing). What came from the web loses its control characters but line feed and tab, and has an apostrophe before what
 * a spreadsheet would take for a formula, whatever separator it assumes. In layers, so that the JSON of a row is read once and each text searched once; the cells,
 * of which there may be thousands, are taken apart in the last.
 */
export function csvQuery(columns: number, added: readonly ResultColumn[], source: string): string {
  const own = Array.from({ length: columns }, (_, index) => `input[${index + 1}]`);
  const { inner, shown } = resultSql(added, true);
  // Names of our own: those of the columns may be anything.
  const names = added.map((_, index) => `added_${index + 1}`);
  const replace = (value: (name: string) => string) => {
    const web = names.filter((_, index) => isFromWeb(added[index] as ResultColumn));
    return web.map((name) => `${value(name)} AS ${name}`).join(', ');
  };
  const cleaned = replace(
    (name) =>
      `CASE WHEN regexp_matches(${name}, '${CONTROLS}') THEN regexp_replace(${name}, '${CONTROLS}', '', 'g') ELSE ${name} END`,
  );
  const apart = replace(
    (name) =>
      `CASE WHEN regexp_matches(${name}, '${MIDDLE}') THEN regexp_replace(${name}, '${MIDDLE}', '\\1''\\2', 'g') ELSE ${name} END`,
  );
  const harmless = replace(
    (name) => `CASE WHEN regexp_matches(left(${name}, 200), '${FORMULA}') THEN '''' || ${name} ELSE ${name} END`,
  );
  return `SELECT ${[...own, ...names].join(', ')} FROM (SELECT * REPLACE (${harmless}) FROM (SELECT * REPLACE (${apart}) FROM (SELECT * REPLACE (${cleaned}) FROM (
    SELECT ${['input', ...shown.map((expression, index) => `${expression} AS ${names[index]}`)].join(', ')} FROM (
      SELECT ${["* REPLACE (list_transform(input, lambda cell: nullif(cell, '')) AS input)", 'cost_micros / 1000000 AS cost_dollars', ...inner].join(', ')}
      FROM (${source}) ORDER BY row_number)))))`;
}
