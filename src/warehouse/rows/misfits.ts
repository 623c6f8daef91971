import { identifier, literal } from '../shared/duckdb-quote.js';
import { viewNames } from './job-view.js';
import type { ResultColumn, ValueType } from './result-column.js';
import type { RowTransaction } from './row-sql.js';

/** The number of characters that are kept of a value. */
const KEPT = 200;

/** Types whose columns are NULL for a value that does not fit. */
const strict: readonly ValueType[] = ['number', 'integer', 'boolean', 'date', 'time'];

/** A job whose misfits are listed: the columns of its input, and the columns that are read from its answers. */
interface MisfitJob {
  readonly job: string;
  readonly columns: readonly string[];
  readonly results: readonly ResultColumn[];
}

/**
 * Lists the values of loaded answers that do not fit the type of their column. Replaces what was listed for these rows. `rows`: condition on
 * `row_number`; absent: all rows of the job.
 */
export async function listMisfits(tx: RowTransaction, job: MisfitJob, rows?: string): Promise<void> {
  const { dialect } = tx;
  const typed = typedColumns(tx, job);
  // Most jobs have no such columns, and their loads read nothing again.
  if (typed.length === 0 && rows !== undefined) return;
  const which = `job = ${literal(job.job)}${rows === undefined ? '' : ` AND ${rows}`}`;
  await tx.run(`DELETE FROM misfits WHERE ${which}`);
  if (typed.length === 0) return;
  const columns = typed.flatMap(({ column }) => [asText(column), column]);
  const where = `${which} AND row_number IS NOT NULL AND status = 'success' AND outdated_at IS NULL AND vanished_at IS NULL`;
  const { from, shown } = dialect.view.read(columns, where);
  const values = typed.map(
    (_, at) => `CASE WHEN ${shown[2 * at + 1]} IS NULL THEN left(${shown[2 * at]}, ${KEPT}) END AS m${at}`,
  );
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

/** The columns of a job whose values may not fit, with their names in the view of the job. */
function typedColumns({ dialect }: RowTransaction, { columns, results }: MisfitJob) {
  const names = viewNames(dialect.view, columns, results).results;
  return results.flatMap((column, index) => {
    const { from } = column;
    if (!('type' in from) || !strict.includes(from.type)) return [];
    return [{ column, type: from.type, name: names[index] as string }];
  });
}

function asText(column: ResultColumn): ResultColumn {
  return 'type' in column.from ? { ...column, from: { ...column.from, type: 'text' } } : column;
}

/** Counts the misfits of a job by column. A warehouse that an earlier version made may lack the table until it is written to. */
export async function countMisfits({ dialect, rows }: RowTransaction, job: string): Promise<Record<string, number>> {
  const table = await rows(
    `SELECT 1 AS found FROM (${dialect.view.namesInUse}) t WHERE ${identifier('name')} = 'misfits'`,
  );
  if (table.length === 0) return {};
  const counts = await rows<{ name: string; count: unknown }>(
    'SELECT column_name AS name, count(*) AS count FROM misfits WHERE job = $1 GROUP BY 1 ORDER BY 2 DESC, 1',
    [job],
  );
  return Object.fromEntries(counts.map(({ name, count }) => [name, Number(count)]));
}
