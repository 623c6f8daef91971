import { identifier, type PgTransaction } from '../../../postgres/index.js';
import type { ResultColumn } from '../../rows/result-column.js';
import { freeName } from '../../shared/free-name.js';
import { viewColumns } from '../../shared/view-columns.js';
import { lockNames } from '../driver/locks.js';
import { resultSql } from './result-sql.js';

/** Maximum number of columns of a view. */
const MAX_COLUMNS = 1600;
/** Maximum bytes of a name. */
const MAX_NAME = 63;

/** A name with its suffix, cut to PostgreSQL's limit; NUL is replaced by visible characters. */
function cut(name: string, suffix: string): string {
  let text = name.replaceAll('\0', '\\u0000');
  while (Buffer.byteLength(text + suffix) > MAX_NAME) text = [...text].slice(0, -1).join('');
  return text + suffix;
}

/**
 * Returns the name of a job's view: the name of the job, or a free name if a table or the view of another job has that name.
 */
export async function chooseViewName(tx: PgTransaction, name: string): Promise<string> {
  await lockNames(tx);
  const rows = await tx.query<{ name: string }>(
    `SELECT lower(relname) AS name FROM pg_class WHERE relnamespace = quote_ident(current_schema())::regnamespace
     UNION SELECT lower(view_name) FROM searchflow_jobs`,
  );
  const wanted = name === '' ? 'job' : name;
  return freeName(cut(wanted, ''), new Set(rows.map((row) => row.name)), (_name, number) => cut(wanted, `_${number}`));
}

/**
 * Creates the view of a job. The view has the rows of the current input; the user's columns come first. `unchanged`: the columns of the
 * view have the same sources as before, so an existing view with the same column names is kept.
 */
export async function makeView(
  tx: PgTransaction,
  schema: string,
  view: string,
  job: string,
  columns: readonly string[],
  added: readonly ResultColumn[],
  unchanged: boolean,
): Promise<void> {
  const { own, results } = viewColumns(
    columns.slice(0, MAX_COLUMNS - added.length),
    added.map(({ name }) => name),
    cut,
  );
  const { from, shown: values } = resultSql(added, `${schema}.`);
  const qualified = `${schema}.${identifier(view)}`;
  const names = [...own, ...results];
  const before = await tx.query<{ name: string }>(
    'SELECT attname AS name FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 ORDER BY attnum',
    [qualified],
  );
  if (unchanged && before.length === names.length && before.every(({ name }, index) => name === names[index])) return;
  const shown = [
    ...own.map((name, index) => `input[${index + 1}] AS ${identifier(name)}`),
    ...results.map((name, index) => `${values[index]} AS ${identifier(name)}`),
  ];
  // The old view is dropped first: CREATE OR REPLACE cannot change columns, and the columns may differ from the columns of the earlier
  // input.
  await tx.query(`DROP VIEW IF EXISTS ${qualified}`);
  await tx.query(
    `CREATE VIEW ${qualified} AS SELECT ${shown.join(', ')}
     FROM ${from} WHERE job = '${job.replaceAll("'", "''")}' AND vanished_at IS NULL`,
  );
  const rest = columns.length - own.length;
  if (rest > 0) {
    await tx.query(
      `COMMENT ON VIEW ${qualified} IS 'The first ${own.length} columns; the other ${rest} are in enriched_rows.input'`,
    );
  }
}
