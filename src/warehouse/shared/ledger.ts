import { type LoadedRows, WarehouseUnusable } from '../../core/rows/row-warehouse.js';

/**
 * Slices of a job's generation whose ledger line names more rows than exist, because a person deleted rows. `job` and
 * `generation` are SQL expressions. Both databases accept this SQL.
 */
export function slicesLackingRows(job: string, generation: string): string {
  return `SELECT l.slice FROM load_ledger l LEFT JOIN (
      SELECT e.slice, count(*) AS present FROM row_store e
      WHERE e.job = ${job} AND e.row_number IS NOT NULL AND e.vanished_at IS NULL AND e.outdated_at IS NULL GROUP BY e.slice
    ) r ON r.slice = l.slice
    WHERE l.job = ${job} AND l.generation = ${generation} AND l.rows > coalesce(r.present, 0)`;
}

/**
 * Throws if the warehouse has another generation of the job, because row numbers would belong to other rows. `current`: the generation in
 * the warehouse, or undefined.
 */
export function checkGeneration(job: string, generation: string, current: unknown): void {
  if (current === generation) return;
  throw new WarehouseUnusable(
    current === undefined
      ? `The warehouse of ${job} was deleted or replaced while the job ran; the same command loads it again from the journal`
      : `The job ${job} has been started with other content or options; this run can no longer load`,
  );
}

/** Number of loaded rows by slice. `ledger`: whether the slice has a line in the ledger. All arguments are SQL expressions. */
export function loadedRowsSql(stale: string, job: string, generation: string): string {
  return `SELECT e.slice, count(*) AS rows, count(*) FILTER (WHERE e.status = 'error') AS failed, l.slice IS NOT NULL AS ledger
    FROM row_store e LEFT JOIN load_ledger l ON l.job = e.job AND l.slice = e.slice AND l.generation = ${generation}
    WHERE e.job = ${job} AND e.row_number IS NOT NULL AND e.vanished_at IS NULL AND e.outdated_at IS NULL AND NOT ${stale}
    GROUP BY e.slice, l.slice ORDER BY e.slice`;
}

/** Sums the rows of {@link loadedRowsSql}. */
export function toLoadedRows(slices: readonly Readonly<Record<string, unknown>>[]): LoadedRows {
  return {
    failed: slices.reduce((sum, { failed }) => sum + Number(failed), 0),
    partial: slices.filter(({ ledger }) => !ledger).map(({ slice, rows }) => [Number(slice), Number(rows)]),
  };
}
