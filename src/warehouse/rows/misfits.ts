import { createHash } from 'node:crypto';
import { TEXT } from '../../core/rows/column-type.js';
import type { Dialect, Transaction } from '../dialect.js';
import { identifier, literal } from '../shared/duckdb-quote.js';
import { freeName, viewColumns } from '../shared/view-columns.js';
import type { InputColumns } from './job-columns.js';
import { type ResultColumn, strictTypes } from './result-column.js';

const KEPT = 200;

/** A job whose misfits are listed: the columns of its input, and the columns that are read from its answers. */
export interface ShownJob extends InputColumns {
  readonly job: string;
  readonly results: readonly ResultColumn[];
}

/**
 * Lists the values of loaded answers, and the cells, that do not fit the type of their column. Replaces what was listed for these rows.
 * `rows`: condition on `row_number`; absent: all rows of the job.
 */
export async function listMisfits(tx: Transaction, job: ShownJob, rows?: string): Promise<void> {
  const { dialect } = tx;
  const typed = [...typedColumns(dialect, job), ...cellColumns(dialect, job)];
  // Most jobs have no such columns, and their loads read nothing again.
  if (typed.length === 0 && rows !== undefined) return;
  const which = `job = ${literal(job.job)}${rows === undefined ? '' : ` AND ${rows}`}`;
  await tx.run(`DELETE FROM misfits WHERE ${which}`);
  if (typed.length === 0) return;
  const columns = typed.flatMap((one) => ('column' in one ? [asText(one.column), one.column] : []));
  const where = `${which} AND row_number IS NOT NULL AND outdated_at IS NULL AND vanished_at IS NULL`;
  const { from, shown } = dialect.read(`${dialect.prefix}enriched_rows`, columns, where);
  const values = typed.map((one, at) => {
    const [text, value] = 'cell' in one ? [one.cell, one.value] : shown.slice(2 * at, 2 * at + 2);
    const isRead = 'cell' in one ? '' : "status = 'success' AND ";
    return `CASE WHEN ${isRead}${value} IS NULL THEN left(${text}, ${KEPT}) END AS m${at}`;
  });
  const parts = typed.map(
    ({ name, type }, at) =>
      `SELECT ${literal(job.job)}, n, ${literal(name)}, m${at}, ${literal(type)}, g, ${dialect.now()} FROM read_values WHERE m${at} IS NOT NULL`,
  );
  const any = `coalesce(${typed.map((_, at) => `m${at}`).join(', ')}) IS NOT NULL`;
  // Only rows with a misfit are kept in memory, because a job may have millions of rows.
  await tx.run(
    `INSERT INTO misfits (job, row_number, column_name, value, expected, generation, loaded_at)
     WITH read_values AS MATERIALIZED (
       SELECT * FROM (SELECT row_number AS n, generation AS g, ${values.join(', ')} FROM ${from}) v WHERE ${any})
     ${parts.join(' UNION ALL ')}`,
  );
}

/** The columns of a job whose values may not fit, with their names in the view of the job, and the objects whose properties are columns. */
function typedColumns(dialect: Dialect, { columns, results }: Pick<ShownJob, 'columns' | 'results'>) {
  const names = viewNames(dialect, columns, results).results;
  const typed = [...results, ...outerObjects(results)].flatMap((column, index) => {
    const { from } = column;
    const type = 'type' in from && strictTypes.find((one) => one === from.type);
    return type ? [{ column, from, type, name: names[index] ?? column.name }] : [];
  });
  return typed.filter(({ name }, index) => typed.findIndex((one) => one.name === name) === index);
}

/** The objects whose properties are columns, and which have no column of their own: `outer` of `outer_inner`. */
function outerObjects(results: readonly ResultColumn[]): readonly ResultColumn[] {
  return results.flatMap(({ name, from }) => {
    if (!('path' in from)) return [];
    const { path, of } = from;
    const depth = [...path, name].findIndex((_, at) => at > 0 && path.slice(-at).join('_') === name);
    return path.slice(path.length - depth, -1).map((_, at): ResultColumn => {
      const outer = path.slice(0, path.length - depth + at + 1);
      return {
        name: outer.slice(path.length - depth).join('_'),
        csv: false,
        from: { path: outer, type: 'object', of },
      };
    });
  });
}

/** The columns of the input whose type may not hold all values in this database. */
function cellColumns(dialect: Dialect, { columns, types, results }: ShownJob) {
  return viewNames(dialect, columns, results).own.flatMap((name, index) => {
    const type = types?.[index] ?? TEXT;
    return dialect.isNarrow(type)
      ? [{ name, type, cell: `input[${index + 1}]`, value: dialect.cell(index, type) }]
      : [];
  });
}

function asText(column: ResultColumn): ResultColumn {
  return 'type' in column.from ? { ...column, from: { ...column.from, type: 'text' } } : column;
}

export async function countMisfits(tx: Transaction, job: string): Promise<Record<string, number>> {
  const counts = await tx.rows<{ name: string; count: unknown }>(
    'SELECT column_name AS name, count(*) AS count FROM misfits WHERE job = $1 GROUP BY 1 ORDER BY 2 DESC, 1',
    [job],
  );
  return Object.fromEntries(counts.map(({ name, count }) => [name, Number(count)]));
}

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

/** Returns the names of the columns in the view of a job: the user's own columns, and the columns after these. */
export function viewNames(
  { maxColumns, cut }: Dialect,
  columns: readonly string[],
  added: readonly ResultColumn[],
): ReturnType<typeof viewColumns> {
  const names = added.map(({ name }) => name);
  return viewColumns(columns.slice(0, maxColumns - added.length), names, cut);
}

/** Condition: the row is in the job's view, exports and publishes, because it is in the current input. */
export const viewedRows = (job: string): string => `job = ${literal(job)} AND vanished_at IS NULL`;

/** The query of a job's view, with the names of its columns: the user's own, and those `added` after these. */
export function viewQuery(
  dialect: Dialect,
  where: string,
  { columns, types }: InputColumns,
  added: readonly ResultColumn[],
) {
  const { own, results } = viewNames(dialect, columns, added);
  const { from, shown } = dialect.read(`${dialect.prefix}enriched_rows`, added, where);
  const all = [
    ...own.map((name, index) => `${dialect.cell(index, types?.[index])} AS ${identifier(name)}`),
    ...results.map((name, index) => `${shown[index]} AS ${identifier(name)}`),
  ];
  return { own, added: results, query: `SELECT ${all.join(', ')} FROM ${from}` };
}

/**
 * Creates the view of a job, and creates it again if its columns or this version would make another one. The comment of the view has the hash
 * of its definition. The user's columns come first. Returns whether it created the view.
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
  const hash = createHash('sha256').update(query).digest('hex').slice(0, 12);
  const comment = `${rest > 0 ? first : ''}Rows of one job, definition ${hash}`;
  const [made] = await tx.rows<{ comment: string | null }>(tx.dialect.viewComment, [view]);
  if (made?.comment === comment) return false;
  const qualified = `${tx.dialect.prefix}${identifier(view)}`;
  // The old view is dropped first, because its columns may differ, and not every database can replace such a view.
  await tx.run(`DROP VIEW IF EXISTS ${qualified}`);
  await tx.run(`CREATE VIEW ${qualified} AS ${query}`);
  await tx.run(`COMMENT ON VIEW ${qualified} IS ${literal(comment)}`);
  return true;
}
