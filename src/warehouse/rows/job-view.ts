import type { Dialect, Transaction } from '../dialect.js';
import { identifier, literal } from '../shared/duckdb-quote.js';
import { createView, isMade, madeView } from '../shared/relation.js';
import { freeName, viewColumns } from '../shared/view-columns.js';
import type { InputColumns } from './job-columns.js';
import type { ResultColumn } from './result-column.js';

/**
 * Returns the name of a job's view: the name of the job, or a free name if a table or the view of another job has that name.
 */
export async function chooseViewName(tx: Transaction, name: string): Promise<string> {
  const { cut, namesInUse } = tx.dialect;
  await tx.lock('names');
  const taken = await tx.rows<{ name: string }>(`${namesInUse} UNION SELECT lower(view_name) FROM searchflow_jobs`);
  const wanted = name === '' ? 'job' : name;
  return freeName(cut(wanted, ''), new Set(taken.map((row) => row.name)), (_name, number) => cut(wanted, `_${number}`));
}

/** The SQL of a database, or of files, for views. */
export type ViewSql = Pick<Dialect, 'prefix' | 'maxColumns' | 'cut' | 'cell' | 'read'>;

/** Returns the names of the columns in the view of a job: the user's own columns, and the columns after these. */
export function viewNames(
  { maxColumns, cut }: ViewSql,
  columns: readonly string[],
  added: readonly ResultColumn[],
): ReturnType<typeof viewColumns> {
  const names = added.map(({ name }) => name);
  return viewColumns(columns.slice(0, maxColumns - added.length), names, cut);
}

/** Condition: the row is in the job's view, exports and publishes, because it is in the current input. */
export const viewedRows = (job: string): string => `job = ${literal(job)} AND vanished_at IS NULL`;

/** The query of a job's view or files, with the names of its columns: the user's own, and those `added` after these. */
export function viewQuery(
  dialect: ViewSql,
  where: string | undefined,
  { columns, types }: InputColumns,
  added: readonly ResultColumn[],
  rows = `${dialect.prefix}enriched_rows`,
) {
  const { own, results } = viewNames(dialect, columns, added);
  const { from, shown } = dialect.read(rows, added, where);
  const all = [
    ...own.map((name, index) => `${dialect.cell(index, types?.[index])} AS ${identifier(name)}`),
    ...results.map((name, index) => `${shown[index]} AS ${identifier(name)}`),
  ];
  return { own, added: results, query: `SELECT ${all.join(', ')} FROM ${from}` };
}

/**
 * Creates the view of a job, and creates it again if its columns or this version would make another one. The user's columns come first. Returns
 * whether it created the view.
 */
export async function renewJobView(
  tx: Transaction,
  view: string,
  job: InputColumns & { readonly job: string },
  results: readonly ResultColumn[],
): Promise<boolean> {
  const { own, query } = viewQuery(tx.dialect, viewedRows(job.job), job, results);
  const rest = job.columns.length - own.length;
  const first = `The first ${own.length} columns; the other ${rest} are in enriched_rows.input. `;
  const made = madeView(view, query, `${rest > 0 ? first : ''}Rows of one job`);
  if (await isMade(tx, made)) return false;
  // The old view is dropped first, because its columns may differ, and not every database can replace such a view.
  await tx.run(`DROP VIEW IF EXISTS ${tx.dialect.prefix}${identifier(view)};\n${createView(made, tx.dialect)}`);
  return true;
}
