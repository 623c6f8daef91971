import { WarehouseUnusable } from '../../../core/rows/row-warehouse.js';
import type { Postgres } from '../../../postgres/index.js';

/** The columns that the statements here need, by table. */
const expected: Readonly<Record<string, string>> = {
  searchflow_jobs:
    'job text, name text, view_name text, origin text, operation text, input text, columns text[], generation text, ' +
    'options jsonb, rows bigint, slices integer, created_at timestamptz, opened_at timestamptz, request json',
  row_store:
    'id bigint, job text, origin text, generation text, slice integer, row_number bigint, row_hash text, unit_key text, ' +
    'url text, input text[], status text, error_tag text, error_message text, http_status integer, source text, ' +
    'title text, author text, published_date text, response json, request_id text, cost_micros bigint, ' +
    'fetched_at timestamptz, loaded_at timestamptz, outdated_at timestamptz, vanished_at timestamptz, ' +
    'row_exact json, answer_exact json',
  load_ledger: 'job text, generation text, slice integer, rows bigint, attempt text, loaded_at timestamptz',
  unknown_outcomes:
    'job text, id text, book text, operation text, unit_keys text[], intended_at timestamptz, reason text, ' +
    'estimate_micros bigint, recorded_at timestamptz',
  searchflow_runs:
    'job text, run text, scheduled boolean, generation text, started_at timestamptz, ended_at timestamptz, phase text, ' +
    'reason text, message text, rows bigint, success bigint, error bigint, invalid bigint, missing bigint, ' +
    'vanished bigint, requests bigint, cost_micros bigint',
};

interface Found {
  readonly table: string;
  readonly column: string;
  readonly type: string;
  /** The column is NOT NULL and has no default. */
  readonly demanding: boolean;
}

/**
 * Checks tables, rights and encoding before anything is bought for them. A column that a person added is accepted, unless it is
 * NOT NULL without a default. Throws `WarehouseUnusable` with the list of all mistakes.
 */
export async function checkSchema(postgres: Postgres, shown: string): Promise<void> {
  const { schema } = postgres.address;
  const columns = await postgres.query<Found>(
    `SELECT c.relname AS table, a.attname AS column,
       replace(format_type(a.atttypid, a.atttypmod), 'timestamp with time zone', 'timestamptz') AS type,
       a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' AS demanding
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     WHERE n.nspname = $1 AND c.relname = ANY($2)`,
    [schema, Object.keys(expected)],
  );
  const wrong = Object.keys(expected).flatMap((table) => wrongWith(table, columns));
  if (wrong.length > 0) {
    throw new WarehouseUnusable(
      `The tables in ${shown} were changed: ${wrong.join('; ')}. Undo that, or load into another schema (?schema=name)`,
    );
  }
  const missing = await missingRights(postgres, schema);
  if (missing.length > 0) {
    throw new WarehouseUnusable(`The user of ${shown} needs ${missing.join(', ')}: ask its owner to grant it`);
  }
  const [server] = await postgres.query<{ encoding: string }>(`SELECT current_setting('server_encoding') AS encoding`);
  if (server?.encoding !== 'UTF8') {
    throw new WarehouseUnusable(
      `${shown} has the encoding ${server?.encoding}, which cannot hold every page: create a database with UTF8`,
    );
  }
}

function wrongWith(table: string, columns: readonly Found[]): string[] {
  const actual = new Map(columns.filter((found) => found.table === table).map((found) => [found.column, found]));
  const known = (expected[table] as string).split(', ').map((text) => text.split(' ') as [string, string]);
  if (actual.size === 0) return [`the table ${table} is missing`];
  const ours = new Set(known.map(([column]) => column));
  return [
    ...[...actual.values()]
      .filter(({ column, demanding }) => demanding && !ours.has(column))
      .map(({ column }) => `${table}.${column} is NOT NULL without a default and is not written by searchflow`),
    ...known.flatMap(([column, type]) => {
      const found = actual.get(column);
      if (found === undefined) return [`${table}.${column} is missing`];
      return found.type === type ? [] : [`${table}.${column} is ${found.type} instead of ${type}`];
    }),
  ];
}

/** Rights that the user lacks here, in the words of GRANT. */
async function missingRights(postgres: Postgres, schema: string): Promise<string[]> {
  const rights = await postgres.query<{ right: string }>(
    `SELECT r AS right FROM (
       SELECT p || ' ON ' || c.relname AS r, has_table_privilege(c.oid, p) AS has
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS p
       WHERE n.nspname = $1 AND c.relname = ANY($2)
       UNION ALL SELECT 'CREATE ON SCHEMA ' || quote_ident($1), has_schema_privilege($1, 'CREATE')
       UNION ALL SELECT 'TEMPORARY ON DATABASE ' || quote_ident(current_database()),
         has_database_privilege(current_database(), 'TEMPORARY')) AS rights
     WHERE NOT has`,
    [schema, Object.keys(expected)],
  );
  return rights.map(({ right }) => right);
}
