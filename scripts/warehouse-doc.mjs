import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import pg from 'pg';

/** Queries for a start, in SQL that both databases speak; `brands` is the view of a job of that name. */
export const usefulQueries = [
  [
    'What failed, and why',
    'SELECT status, error_tag, count(*) AS rows FROM brands GROUP BY status, error_tag ORDER BY rows DESC;',
  ],
  [
    'What the answers that are there cost in a month, and what of it is unsure (`searchflow usage` has the bill, with what was refreshed since)',
    `SELECT job, sum(dollars) AS dollars, sum(unknown_dollars) AS perhaps FROM spend
WHERE day >= DATE '2026-11-01' AND day < DATE '2026-12-01' GROUP BY job ORDER BY dollars DESC;`,
  ],
  [
    'A field of the answer that has no column',
    `SELECT url, response ->> 'score' AS score FROM enriched_rows
WHERE status = 'success' AND vanished_at IS NULL ORDER BY row_number;`,
  ],
];

/** A job of no rows makes a warehouse, and a view of its own. */
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

/** What the databases themselves say of a fresh warehouse: by table or view, by column. `dir` is for a DuckDB file. */
export async function readCatalogs(createWarehouses, dir, postgresUrl) {
  const file = join(dir, 'doc.duckdb');
  const sinks = createWarehouses();
  for (const address of [file, postgresUrl]) await sinks.open(address).rows.openJob(job, []);
  await sinks.close();
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
    const relation = catalog.get(name) ?? { name, kind, is, columns: new Map() };
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
    `A ${one.kind}. ${one.is ?? ''}${only}`,
    '',
    '| Column | DuckDB | PostgreSQL | |',
    '|---|---|---|---|',
    ...columns.map((column) => {
      const meaning = here?.columns.get(column)?.is ?? there?.columns.get(column)?.is;
      return `| \`${column}\` | ${type(here, column)} | ${type(there, column)} | ${cell(meaning)} |`;
    }),
    '',
  ];
}

/** The text of docs/warehouse.md. */
export function warehouseDoc(catalogs) {
  const names = [...new Set([...catalogs.duckDb.keys(), ...catalogs.postgres.keys()])].sort();
  const kindOf = (name) => (catalogs.duckDb.get(name) ?? catalogs.postgres.get(name)).kind;
  return [
    '# The warehouse',
    '',
    'Made by `node scripts/make-warehouse-doc.mjs` from what fresh warehouses say of themselves; `npm test` fails where the two differ.',
    'The same words are comments on tables, views and columns in the database.',
    '',
    'A warehouse is a DuckDB file (`--into out/companies.duckdb`) or a schema of a PostgreSQL database',
    "(`--into 'postgres://host/database?schema=name&sslmode=verify-full'`, schema `searchflow` where none is named). Tables and views are the same in",
    'both. Times are UTC; money is kept in whole millionths of a dollar.',
    '',
    '**The view of a job** has its name (`brands`): the columns of your file as you named them, then `status`, `error_tag`,',
    '`error_message`, `http_status`, `title`, `author`, `published_date`, `text`, `highlights`, `summary`, `response`, `request_id`,',
    '`cost_dollars`, `fetched_at` and `row_number`, as in `enriched_rows`. A result whose name one of your columns has already gets',
    '`result_` before it. PostgreSQL cuts names at 63 bytes and shows the first 1,585 columns of a wider file.',
    '',
    '**Other operations** show other columns between `error_message` and `response`. A search: `results` (how many), `url`, `title` and',
    '`published_date` of the first one. An answer: `answer`, `citations` (how many), `citation_url` and `citation_title` of the first',
    'one. An agent run: a column for each property of its schema, then `text`, `stop_reason` and `run_id`. Texts, numbers, integers, booleans,',
    'dates and times of a schema have a type of their own, nested objects become `outer_inner`, all else is JSON; a value that does not',
    'fit its type is NULL there and stays in `response`. At most 200 columns are made of a schema. The schema of a search or an answer does the same.',
    '',
    '**All results** are in `search_results`, `similar_results`, `answers`, `answer_citations`, `agent_outputs`, `agent_grounding` and',
    '`research_outputs`, by `job` and `row_number`. They are views: an answer is kept once, whole, in `row_store`, so what is refreshed,',
    'moved or gone there is so here at once. One row is a matter of milliseconds; reading all of a million results takes DuckDB some seconds,',
    'so make a table of them (`CREATE TABLE mine AS SELECT …`) where you go through all of them often.',
    '',
    '**Webset events** (`searchflow events …`) are in `events`, one row each, as they came. `websets`, `webset_searches`, `webset_imports`,',
    '`webset_enrichments`, `webset_items`, `webset_item_enrichments`, `webset_monitors`, `webset_monitor_runs` and `webset_exports` are the',
    'things as they are now: of two versions the newer one stays, and what was deleted has `deleted_at`. What belongs to a deleted webset',
    'is not marked: join `websets` for that. DuckDB writes the JSON of `data` anew: half a surrogate pair becomes the six characters that name',
    'it, and a number has at most 64 bits; in PostgreSQL `event_exact` has what `jsonb` can’t hold. `item_timeline` and',
    '`webset_activity_daily` are views of the events. How far they are loaded is in `event_streams` and `event_windows`, what the latest',
    'verifications found in `event_checks`. Filter by `origin` where sandbox and real data share a warehouse.',
    '',
    "**JSON**: `response ->> 'score'` works in both. In PostgreSQL `response` is `json`, as it came; `response::jsonb` is there for the",
    'operators of `jsonb`. Its text can hold neither NUL nor half a surrogate pair: `row_exact` and `answer_exact` say where there was one.',
    '',
    '**Parquet** (`searchflow export JOB --parquet DIR`) has the columns of the job’s view in files of 25,000 rows; JSON is text there,',
    'times are UTC without a zone.',
    '',
    '## Queries for a start',
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
