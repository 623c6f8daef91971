import { TEXT } from '../../core/rows/column-type.js';
import type { Dialect, Transaction } from '../dialect.js';
import { literal } from '../shared/duckdb-quote.js';
import type { InputColumns } from './job-columns.js';
import { viewNames } from './job-view.js';
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
  const names = viewNames(dialect, job.columns, job.results);
  const typed = [...typedColumns(names.results, job.results), ...cellColumns(dialect, names.own, job.types)];
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
function typedColumns(names: readonly string[], results: readonly ResultColumn[]) {
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
function cellColumns(dialect: Dialect, names: readonly string[], types: InputColumns['types']) {
  return names.flatMap((name, index) => {
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
