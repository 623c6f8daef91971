/** Added columns that hold nothing from the web. */
const ours: readonly string[] = ['status', 'http_status', 'cost_dollars', 'fetched_at'];
/** Added columns that have a column of their own in the warehouse. */
const stored: readonly string[] = [
  ...ours,
  ...['error_tag', 'error_message', 'title', 'author', 'published_date', 'request_id'],
];
/** Added columns that are read from the response. */
const inResponse: readonly string[] = ['text', 'highlights', 'summary'];

/** Columns an export adds. Highlights and summary are among them when the job asked for them. */
export function addedColumns(options: Readonly<Record<string, unknown>>): string[] {
  return [
    ...['status', 'error_tag', 'error_message', 'http_status', 'title', 'author', 'published_date', 'text'],
    ...['highlights', 'summary'].filter((name) => (options[name] ?? false) !== false),
    ...['request_id', 'cost_dollars', 'fetched_at'],
  ];
}

const CONTROLS = String.raw`[\x00-\x08\x0b-\x1f\x7f]`;
// Behind any white space, also the kind that is not seen; the full-width signs are formulas, too, to some spreadsheets.
const FORMULA = String.raw`^[\s\p{Z}\p{Cf}]*[=+\-@＝＋－＠]|^\t`;

/**
 * The rows of `source` (see `JobRows.part`) in their order. The input's cells are as they came (an empty one is NULL, so that it is written
 * as nothing). What came from the web loses its control characters but line feed and tab, and has an apostrophe before what
 * a spreadsheet would take for a formula. In layers, so that the JSON of a row is read once and each text searched once; the cells,
 * of which there may be thousands, are taken apart in the last.
 */
export function csvQuery(columns: number, added: readonly string[], source: string): string {
  const own = Array.from({ length: columns }, (_, index) => `input[${index + 1}]`);
  const web = added.filter((name) => !ours.includes(name));
  const facts = inResponse.filter((name) => added.includes(name));
  const replace = (value: (name: string) => string) => web.map((name) => `${value(name)} AS ${name}`).join(', ');
  const cleaned = replace(
    (name) =>
      `CASE WHEN regexp_matches(${name}, '${CONTROLS}') THEN regexp_replace(${name}, '${CONTROLS}', '', 'g') ELSE ${name} END`,
  );
  const harmless = replace(
    (name) => `CASE WHEN regexp_matches(left(${name}, 200), '${FORMULA}') THEN '''' || ${name} ELSE ${name} END`,
  );
  return `SELECT ${[...own, ...added].join(', ')} FROM (SELECT * REPLACE (${harmless}) FROM (SELECT * REPLACE (${cleaned}) FROM (
    SELECT * EXCLUDE (facts), ${facts.map((name, index) => `facts[${index + 1}] AS ${name}`).join(', ')} FROM (
      SELECT list_transform(input, lambda cell: nullif(cell, '')) AS input, ${stored.join(', ').replace('cost_dollars', 'cost_micros / 1000000 AS cost_dollars')},
        json_extract_string(response, [${facts.map((name) => `'$.${name}'`).join(', ')}]) AS facts
      FROM (${source}) ORDER BY row_number))))`;
}
