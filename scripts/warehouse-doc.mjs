import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import pg from 'pg';

/** First queries, in SQL that both databases accept; `brands` is the view of a job of that name. */
export const usefulQueries = [
  [
    'Failed rows, by reason',
    'SELECT status, error_tag, count(*) AS rows FROM brands GROUP BY status, error_tag ORDER BY rows DESC;',
  ],
  [
    'Cost of the answers of a month, and the estimate of unknown outcomes (the bill, also of answers that were replaced later, is `searchflow usage`)',
    `SELECT job, sum(dollars) AS dollars, sum(unknown_dollars) AS perhaps FROM spend
WHERE day >= DATE '2026-11-01' AND day < DATE '2026-12-01' GROUP BY job ORDER BY dollars DESC;`,
  ],
  [
    'A field of the answer without a column',
    `SELECT url, response ->> 'score' AS score FROM enriched_rows
WHERE status = 'success' AND vanished_at IS NULL ORDER BY row_number;`,
  ],
];

/** A job without rows creates the tables of a warehouse, and a view of its own. */
const job = {
  job: 'doc-1',
  name: 'doc',
  origin: 'sandbox',
  operation: 'contents',
  input: '-',
  columns: ['url'],
  generation: '1',
  options: {},
  rows: 0,
  slices: 0,
};

/** The comments of a fresh warehouse in both databases, by table or view and by column. `dir` is for a DuckDB file. */
export async function readCatalogs(createWarehouses, dir, postgresUrl) {
  const file = join(dir, 'doc.duckdb');
  const warehouses = createWarehouses();
  for (const address of [file, postgresUrl]) await warehouses.open(address).rows.openJob(job, []);
  await warehouses.close();
  return { duckDb: await duckDbCatalog(file), postgres: await postgresCatalog(postgresUrl) };
}

async function duckDbCatalog(file) {
  const instance = await DuckDBInstance.create(file);
  const connection = await instance.connect();
  const reader = await connection.runAndReadAll(`
    SELECT r.name, r.kind, r.comment, c.column_name, c.data_type, c.comment
    FROM duckdb_columns() c JOIN (
      SELECT table_name AS name, 'table' AS kind, comment FROM duckdb_tables()
      UNION ALL SELECT view_name, 'view', comment FROM duckdb_views() WHERE NOT internal) r ON r.name = c.table_name
    WHERE c.schema_name = 'main' ORDER BY r.name, c.column_index`);
  const rows = reader.getRows();
  connection.closeSync();
  instance.closeSync();
  return toCatalog(rows);
}

async function postgresCatalog(url) {
  const address = new URL(url);
  const schema = address.searchParams.get('schema') ?? 'searchflow';
  address.searchParams.delete('schema');
  const client = new pg.Client({ connectionString: address.href });
  await client.connect();
  const { rows } = await client.query({
    text: `SELECT c.relname, CASE c.relkind WHEN 'v' THEN 'view' ELSE 'table' END, obj_description(c.oid), a.attname,
        replace(format_type(a.atttypid, a.atttypmod), 'timestamp with time zone', 'timestamptz'), col_description(c.oid, a.attnum)
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
      WHERE c.relnamespace = $1::regnamespace AND c.relkind IN ('r', 'v', 'p') ORDER BY c.relname, a.attnum`,
    values: [`"${schema}"`],
    rowMode: 'array',
  });
  await client.end();
  return toCatalog(rows);
}

function toCatalog(rows) {
  const catalog = new Map();
  for (const [name, kind, is, column, type, meaning] of rows) {
    if (name === job.name) continue;
    const relation = catalog.get(name) ?? { name, kind, is: is.replace(/, definition \w+$/, '.'), columns: new Map() };
    relation.columns.set(column, { type, is: meaning });
    catalog.set(name, relation);
  }
  return catalog;
}

const cell = (text) => (text === null || text === undefined ? '–' : String(text).replaceAll('|', '\\|'));

function section(name, { duckDb, postgres }) {
  const [here, there] = [duckDb.get(name), postgres.get(name)];
  const one = here ?? there;
  const columns = [...new Set([...(here?.columns.keys() ?? []), ...(there?.columns.keys() ?? [])])];
  const only = here && there ? '' : ` Only in ${here ? 'DuckDB' : 'PostgreSQL'}.`;
  const type = (relation, column) => {
    const found = relation?.columns.get(column);
    return found ? `\`${found.type}\`` : '–';
  };
  return [
    `### ${name}`,
    '',
    `A ${one.kind}. ${one.is}${only}`,
    '',
    '| Column | DuckDB | PostgreSQL | Meaning |',
    '|---|---|---|---|',
    ...columns.map((column) => {
      const meaning = here?.columns.get(column)?.is ?? there?.columns.get(column)?.is;
      return `| \`${column}\` | ${type(here, column)} | ${type(there, column)} | ${cell(meaning)} |`;
    }),
    '',
  ];
}

/** The text of docs/reference/tables.md. */
export function warehouseDoc(catalogs) {
  const names = [...new Set([...catalogs.duckDb.keys(), ...catalogs.postgres.keys()])].sort();
  const kindOf = (name) => (catalogs.duckDb.get(name) ?? catalogs.postgres.get(name)).kind;
  return [
    '# The warehouse',
    '',
    '`npm run generate` makes this page from the comments on tables, views and columns of fresh warehouses. `npm test` fails',
    'if the two differ.',
    '',
    'A warehouse is a DuckDB file (`--into out/companies.duckdb`) or a schema of a PostgreSQL database',
    "(`--into 'postgres://host/database?schema=name&sslmode=verify-full'`, schema `searchflow` by default). Tables and views are the same in",
    'both. Times are UTC; costs are exact to a millionth of a dollar.',
    '',
    '**The view of a job** has the name of the job (`brands`). Its first columns are those of your file. Then follow `status`, `error_tag`,',
    '`error_message`, `http_status`, `title`, `author`, `published_date`, `text`, `highlights`, `summary`, `response`, `request_id`,',
    '`cost_dollars`, `fetched_at` and `row_number`, with the same meaning as in `enriched_rows`. If a column of your file has one of these',
    'names, the column of the result gets the prefix `result_`. PostgreSQL cuts names at 63 bytes. The view has the first 1,585 columns of a',
    'file with more columns.',
    '',
    '**The views of other operations** have other columns between `error_message` and `response`. The view of a search job has `results` (the',
    'number of results), and the `url`, `title` and `published_date` of the first result; also its `highlights` and `summary`, if requested. The',
    'view of an answer job has `answer`, `citations` (the number of citations), and `citation_url` and `citation_title` of the first citation. The view of an agent job has a column for each',
    'property of its schema, then `text`, `stop_reason` and `run_id`.',
    '',
    'Texts, numbers, integers, booleans, dates and times of a schema become typed columns. The property `inner` of an object `outer` becomes',
    'the column `outer_inner`. All other properties become JSON columns. If a value does not fit the type of its column, the column is NULL,',
    'and the value is kept in `response`. The table `misfits` lists each such value, and the summary of a job counts them by column.',
    'A schema makes at most 200 columns. This holds for schemas of agent runs, searches and answers.',
    '',
    '**All results** of a row, not only the first, are in the views `search_results`, `answers`, `answer_citations`,',
    '`agent_outputs` and `agent_grounding`. Filter them by `job` and `row_number`. These views read the answers from the',
    'table `row_store`, so a refreshed or vanished row changes in all of them at once. A query of one row takes milliseconds; a query of all of',
    'a million results takes DuckDB some seconds. For frequent queries of all rows, make a table (`CREATE TABLE mine AS SELECT …`).',
    '',
    '**Webset events** (`searchflow events …`) are in the table `events`, one row for each event, as the service returned it. The tables',
    '`websets`, `webset_searches`, `webset_imports`, `webset_enrichments`, `webset_items`, `webset_item_enrichments`, `webset_monitors`,',
    '`webset_monitor_runs` and `webset_exports` hold the current state. Of two versions of an object the newer one is kept, and a deleted',
    'object has `deleted_at`. The objects of a deleted webset are not marked: join `websets` to find them. `item_timeline` and',
    '`webset_activity_daily` are views of the events. `event_streams` and `event_windows` have the progress of walks, and `event_checks` the',
    'findings of the latest verifications. Filter by `origin` if a warehouse has data of both the sandbox and the real service.',
    '',
    'DuckDB changes the JSON in `data` in two ways: half a surrogate pair becomes its escape as six visible characters, such as `\\ud83d`, and',
    'decimals have double precision. In PostgreSQL, `event_exact` has the whole event if `jsonb` cannot hold one of its values.',
    '',
    "**JSON**: `response ->> 'score'` works in both databases. In PostgreSQL `response` has the type `json`, which keeps the text of the",
    'answer; cast it (`response::jsonb`) to use the operators of `jsonb`. A text in PostgreSQL can hold neither NUL nor half a surrogate pair. Rows',
    'with such characters have the original in `row_exact` or `answer_exact`.',
    '',
    '**Parquet** files (`searchflow export JOB --parquet DIR`) have the columns of the job’s view and up to 25,000 rows each, fewer if',
    'the answers are large. JSON columns are text, and times are UTC without a zone.',
    '',
    '## First queries',
    '',
    ...usefulQueries.flatMap(([title, query]) => [`${title}:`, '', '```sql', query, '```', '']),
    '## Views',
    '',
    ...names.filter((name) => kindOf(name) === 'view').flatMap((name) => section(name, catalogs)),
    '## Tables',
    '',
    ...names.filter((name) => kindOf(name) === 'table').flatMap((name) => section(name, catalogs)),
  ].join('\n');
}
