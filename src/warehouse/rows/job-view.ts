import { identifier, literal } from '../shared/duckdb-quote.js';
import { freeName } from '../shared/free-name.js';
import { viewColumns } from '../shared/view-columns.js';
import type { InputColumns } from './job-columns.js';
import type { ResultColumn } from './result-column.js';
import type { RowDialect, RowTransaction } from './row-sql.js';

/**
 * Returns the name of a job's view: the name of the job, or a free name if a table or the view of another job has that name.
 */
export async function chooseViewName(tx: RowTransaction, name: string): Promise<string> {
  const { cut, namesInUse } = tx.dialect.view;
  await tx.lock('names');
  const taken = await tx.rows<{ name: string }>(`${namesInUse} UNION SELECT lower(view_name) FROM searchflow_jobs`);
  const wanted = name === '' ? 'job' : name;
  return freeName(cut(wanted, ''), new Set(taken.map((row) => row.name)), (_name, number) => cut(wanted, `_${number}`));
}

/** Returns the names of the columns in the view of a job: the user's own columns, and the columns after these. */
export function viewNames(
  { maxColumns, cut }: RowDialect['view'],
  columns: readonly string[],
  added: readonly ResultColumn[],
): ReturnType<typeof viewColumns> {
  const names = added.map(({ name }) => name);
  return viewColumns(columns.slice(0, maxColumns - added.length), names, cut);
}

/** Condition: the row is in the job's view, exports and publishes, because it is in the current input. */
export const viewedRows = (job: string): string => `job = ${literal(job)} AND vanished_at IS NULL`;

/**
 * Creates the view of a job. The user's columns come first. `where`: condition on its rows, see `viewedRows`. `unchanged`: the columns and
 * rows of the view have the same sources as before, so an existing view with the same column names may be kept.
 */
export async function makeView(
  tx: RowTransaction,
  view: string,
  where: string,
  { columns, types }: InputColumns,
  added: readonly ResultColumn[],
  unchanged: boolean,
): Promise<void> {
  const { columnsOf, input, read } = tx.dialect.view;
  const { own, results } = viewNames(tx.dialect.view, columns, added);
  const qualified = `${tx.dialect.prefix}${identifier(view)}`;
  const names = [...own, ...results];
  if (unchanged && columnsOf !== null) {
    const before = await tx.rows<{ name: string }>(columnsOf, [qualified]);
    if (before.length === names.length && before.every(({ name }, index) => name === names[index])) return;
  }
  const { from, shown } = read(added, where);
  const all = [
    ...own.map((name, index) => `${input(index, types?.[index])} AS ${identifier(name)}`),
    ...results.map((name, index) => `${shown[index]} AS ${identifier(name)}`),
  ];
  // The old view is dropped first, because its columns may differ, and not every database can replace such a view.
  await tx.run(`DROP VIEW IF EXISTS ${qualified}`);
  await tx.run(`CREATE VIEW ${qualified} AS SELECT ${all.join(', ')} FROM ${from}`);
  const rest = columns.length - own.length;
  if (rest > 0) {
    await tx.run(
      `COMMENT ON VIEW ${qualified} IS 'The first ${own.length} columns; the other ${rest} are in enriched_rows.input'`,
    );
  }
}
