import type { JobRecord } from '../../core/rows/row-warehouse.js';
import type { Transaction } from '../dialect.js';
import { hasLedger, keepRows } from '../sink-batches.js';
import { rowIdentity } from './duckdb-result-sql.js';
import type { ShownJob } from './misfits.js';
import { countedRows, insertInto, stale, withoutForgotten } from './row-sql.js';
import { rowColumns } from './row-tables.js';

/** Work on at least this many rows is reported as a long operation. */
const MANY = 100_000;

/** The part of a row's hash that depends on all cells. In a job without a key this is the whole hash. */
const contentOf = (rowHash: string): string => `right(${rowHash}, 16)`;

/**
 * Updates the rows of a job to new content or new options of its input, in the caller's transaction. Rows are matched by their key, or by
 * their cells if the job has no key; rows with equal cells are matched in their order. Afterwards each visible row has its number in the new
 * input, and each vanished row is marked. Answers to other options are marked as outdated, and the ledger lists the complete slices.
 */
export async function reconcile(
  tx: Transaction,
  job: JobRecord,
  rowsFiles: readonly string[],
  say: (sentence: string) => void,
): Promise<void> {
  if (job.rows >= MANY) say(`Comparing the ${job.rows} rows of ${job.name} with the warehouse …`);
  const { rowId: id, now } = tx.dialect;
  // Row numbers have changed, so earlier ledger lines do not prove that the slices are loaded.
  await tx.run('DELETE FROM load_ledger WHERE job = $1', [job.job]);
  await tx.createTemp('staged', emptyStaged);
  await tx.readRows(rowsFiles, (rows) => tx.run(`INSERT INTO staged SELECT n, h, k, m, slice FROM ${rows} s`));
  await tx.run('ANALYZE staged');
  await match(tx, job.job);
  await tx.run(
    `UPDATE row_store AS e SET row_number = m.n, slice = coalesce(m.slice, e.slice), row_hash = coalesce(m.h, e.row_hash),
       vanished_at = CASE WHEN m.n IS NULL THEN coalesce(e.vanished_at, ${now()}) END,
       outdated_at = CASE WHEN m.outdated THEN coalesce(e.outdated_at, ${now()}) END,
       error_message = CASE WHEN m.bad AND m.n IS NOT NULL THEN m.m ELSE e.error_message END
     FROM matched m WHERE e.${id} = m.rid AND m.changed`,
  );
  await tx.run(`DELETE FROM row_store WHERE ${id} IN (SELECT rid FROM matched WHERE useless)`);
  await copyKnownAnswers(tx, job, rowsFiles);
  await writeEditedCells(tx, job, rowsFiles);
  await tx.run(
    `INSERT INTO load_ledger (job, generation, slice, rows, attempt, loaded_at)
     SELECT $1, $2, s.slice, count(*), 'unchanged', ${now()}
     FROM staged s LEFT JOIN matched m ON m.n = s.n AND m.good
     GROUP BY s.slice HAVING count(*) = count(m.n)`,
    [job.job, job.generation],
  );
}

/**
 * Keeps rows for the sink that no load gives, because their answers are known: those with new cells, and those that have come back; with `all`,
 * each row. `reconcile` has matched the rows. Each slice has its own batches, as in a load.
 */
export async function keepKnownRows(tx: Transaction, job: ShownJob, all: boolean): Promise<void> {
  if (!(await hasLedger(tx))) return;
  await tx.createTemp('renewed', `SELECT n, slice FROM matched WHERE good AND (renewed OR ${all})`);
  const slices = await tx.rows<Record<'rows' | 'first' | 'last', number>>(
    `SELECT ${countedRows} FROM renewed GROUP BY slice ORDER BY slice`,
  );
  // They come after all earlier batches, because rows may have been in other slices.
  for (const found of slices) await keepRows(tx, { ...job, piece: -1 }, { ...found, table: 'renewed' });
}

/** The whole input without its cells: hashes of rows, and their current numbers. */
const emptyStaged = `SELECT row_number AS n, row_hash AS h, unit_key AS k, error_message AS m, slice FROM row_store LIMIT 0`;

/**
 * Within one run, rows with equal cells have equal keys. Of the stored rows with equal cells, or with the same key, a row with the right
 * answer is matched first, then a visible row.
 *
 * In a job with a key, a row may have other cells than before. If it has the same unit, it gets the new cells (`edited`). If it has another
 * unit, the stored row keeps its answer as an earlier version of the row, in case that the edit is undone: it is vanished and outdated. An
 * earlier version without an answer is useless.
 */
async function match(tx: Transaction, job: string): Promise<void> {
  const { rowId: id } = tx.dialect;
  const right = 'e.unit_key IS NOT DISTINCT FROM known.k';
  const [keyed] = await tx.rows(
    `SELECT 1 AS found FROM (SELECT h FROM staged UNION ALL SELECT row_hash FROM row_store WHERE job = $1) t WHERE length(h) > 16 LIMIT 1`,
    [job],
  );
  const known =
    keyed === undefined
      ? 'LEFT JOIN known ON known.h = e.row_hash'
      : // The key may be new, or another one than before; then rows with the same cells are the same row. Both databases hash-join
        // equalities only, and would compare all pairs with a further condition.
        `LEFT JOIN known same ON ${rowIdentity('same.h')} = ${rowIdentity('e.row_hash')}
         LEFT JOIN known alike ON ${contentOf('alike.h')} = CASE WHEN same.h IS NULL THEN ${contentOf('e.row_hash')} END
         LEFT JOIN known ON known.h = coalesce(same.h, alike.h)`;
  await tx.createTemp(
    'matched',
    `WITH known AS (SELECT h, min(k) AS k FROM staged GROUP BY h),
       old AS (
         SELECT e.${id} AS rid, e.row_hash, e.unit_key, e.row_number, e.slice, e.vanished_at, e.outdated_at, known.h AS h,
           ${right} AND NOT ${stale} AS good, row_number() OVER (PARTITION BY coalesce(known.h, e.row_hash)
             ORDER BY (${right}) DESC, (e.vanished_at IS NULL) DESC, e.row_number, e.${id}) AS occurrence
         FROM row_store e ${known} WHERE e.job = $1),
       wanted AS (SELECT *, row_number() OVER (PARTITION BY h ORDER BY n) AS occurrence FROM staged),
       pairs AS (
         SELECT old.*, s.n AS to_n, s.slice AS to_slice, s.h AS to_h, s.k, s.m, old.unit_key IS DISTINCT FROM s.k AS differs,
           ${contentOf('old.row_hash')} <> ${contentOf('s.h')} AS edited
         FROM old LEFT JOIN wanted s ON s.h = old.h AND s.occurrence = old.occurrence),
       kept AS (
         SELECT *, to_n IS NOT NULL AND NOT (edited AND differs AND unit_key IS NOT NULL) AS is_kept,
           h IS NOT NULL AND length(h) > 16 AS has_key FROM pairs),
       decided AS (
         SELECT *, CASE WHEN is_kept THEN to_n END AS n, is_kept AND edited AND NOT differs AND unit_key IS NOT NULL AS has_new_cells,
           is_kept AND (differs OR (edited AND unit_key IS NULL)) OR (NOT is_kept AND has_key) AS is_outdated
         FROM kept)
       SELECT rid, is_kept AND good AND NOT is_outdated AS good, n, CASE WHEN is_kept THEN to_slice END AS slice,
         CASE WHEN is_kept AND NOT is_outdated THEN to_h END AS h, m, unit_key IS NULL AS bad, is_outdated AS outdated,
         has_new_cells AS edited, has_new_cells OR (is_kept AND vanished_at IS NOT NULL) AS renewed, NOT is_kept AND has_key AND unit_key IS NULL AS useless,
         n IS DISTINCT FROM row_number OR (outdated_at IS NOT NULL) <> is_outdated AND (n IS NOT NULL OR is_outdated)
           OR (n IS NOT NULL AND (to_slice <> slice OR vanished_at IS NOT NULL OR to_h <> row_hash)) AS changed
       FROM decided`,
    [job],
  );
  await tx.run('ANALYZE matched');
}

/** Writes the new cells of rows that keep their answers. Rows may have other ids afterwards. */
async function writeEditedCells(tx: Transaction, job: JobRecord, rowsFiles: readonly string[]): Promise<void> {
  const { rowId: id, now } = tx.dialect;
  const cells = withoutForgotten(tx, 'e.error_tag', {
    ...{ url: 'r.u', input: 'r.i', row_exact: 'CAST(r.row_exact AS json)' },
  });
  const slices = await tx.rows<{ slice: number }>('SELECT DISTINCT slice FROM matched WHERE edited ORDER BY slice');
  if (slices.length === 0) return;
  const files = slices.map(({ slice }) => rowsFiles[slice] as string);
  await tx.readRows(files, (rows) =>
    tx.run(
      `UPDATE row_store AS e SET ${Object.entries(cells)
        .flatMap(([name, value]) => (value === null ? [] : `${name} = ${value}`))
        .join(', ')}, generation = $1, loaded_at = ${now()}
       FROM ${rows} r JOIN matched m ON m.n = r.n AND m.edited WHERE e.${id} = m.rid`,
      [job.generation],
    ),
  );
}

/**
 * Copies known answers to rows with new cells. Such a row (copied, or with another column edited) may have the same unit as
 * another row of the job. The answer is copied from that row, because the journal may have pruned the body.
 */
async function copyKnownAnswers(tx: Transaction, job: JobRecord, rowsFiles: readonly string[]): Promise<void> {
  const { rowId: id, keepsExact, now } = tx.dialect;
  await tx.createTemp(
    'copied',
    `SELECT s.n, s.slice, donor.rid
       FROM staged s
       JOIN (SELECT e.unit_key, e.${id} AS rid, row_number() OVER (PARTITION BY e.unit_key ORDER BY e.fetched_at DESC NULLS LAST) AS turn
             FROM row_store e WHERE e.job = $1 AND e.unit_key IS NOT NULL AND NOT ${stale}) donor
         ON donor.unit_key = s.k AND donor.turn = 1
       WHERE NOT EXISTS (SELECT 1 FROM matched m WHERE m.n = s.n AND m.good)`,
    [job.job],
  );
  const slices = await tx.rows<{ slice: number }>('SELECT DISTINCT slice FROM copied ORDER BY slice');
  if (slices.length === 0) return;
  const values = {
    ...Object.fromEntries(rowColumns.map(({ name }) => [name, `e.${name}`])),
    ...{ generation: '$1', slice: 'c.slice', row_number: 'r.n', row_hash: 'r.h', unit_key: 'r.k' },
    ...withoutForgotten(tx, 'e.error_tag', { url: 'r.u', input: 'r.i', row_exact: 'CAST(r.row_exact AS json)' }),
    error_message: `CASE WHEN e.status = 'success' THEN e.error_message END`,
    ...{ cost_micros: '0', loaded_at: now(), outdated_at: null, vanished_at: null },
    answer_exact: keepsExact ? 'e.answer_exact' : null,
  };
  const files = slices.map(({ slice }) => rowsFiles[slice] as string);
  await tx.readRows(files, (rows) =>
    tx.run(
      insertInto('row_store', values, `FROM ${rows} r JOIN copied c ON c.n = r.n JOIN row_store e ON e.${id} = c.rid`),
      [job.generation],
    ),
  );
  // Answers to other options are replaced, as in a load.
  await tx.run(`DELETE FROM row_store WHERE ${id} IN (SELECT m.rid FROM matched m JOIN copied c ON c.n = m.n)`);
  await tx.run('DELETE FROM matched WHERE n IN (SELECT n FROM copied)');
  await tx.run('INSERT INTO matched (n, slice, good, renewed) SELECT n, slice, true, true FROM copied');
}
