import type { FailedFilter, FailedGroup, FailedRows, LoadedRow } from '../../core/rows/loaded-row.js';
import { discardedRow } from '../rows/marks/row-marks.js';
import type { RowDialect, RowTransaction } from '../rows/row-sql.js';

/** Columns of a row of `row_store` (alias `e`), as a {@link LoadedRow} has them. */
export function loadedColumns({ millis }: Pick<RowDialect, 'millis'>): string {
  const columns: Readonly<Record<keyof LoadedRow, string>> = {
    row: 'CAST(e.row_number AS double precision)',
    hash: 'e.row_hash',
    status: 'e.status',
    tag: 'e.error_tag',
    message: 'e.error_message',
    httpStatus: 'e.http_status',
    key: 'e.unit_key',
    unit: 'e.url',
    input: 'e.input',
    requestId: 'e.request_id',
    costMicros: 'CAST(e.cost_micros AS double precision)',
    fetchedAt: millis('e.fetched_at'),
    generation: 'e.generation',
    slice: 'e.slice',
    loadedAt: millis('e.loaded_at'),
    outdatedAt: millis('e.outdated_at'),
    vanishedAt: millis('e.vanished_at'),
  };
  return Object.entries(columns)
    .map(([name, value]) => `${value} AS "${name}"`)
    .join(', ');
}

/** See `RowPlaces.failedRows`. The rows are those that the summary of the job counts as `error` and `invalid`, without discarded ones. */
export async function failedRows(tx: RowTransaction, job: string, { tags, limit }: FailedFilter): Promise<FailedRows> {
  const { dialect, rows } = tx;
  const failed = `FROM row_store e WHERE e.job = $1 AND e.status <> 'success' AND e.row_number IS NOT NULL
    AND e.vanished_at IS NULL AND e.outdated_at IS NULL
    AND NOT ${discardedRow} AND (CAST($2 AS boolean) OR coalesce(e.error_tag, '') IN (SELECT unnest(CAST($3 AS text[]))))`;
  const values = [job, tags.length === 0, tags];
  const groups = await rows<FailedGroup>(
    `SELECT e.status, e.error_tag AS tag, CAST(count(*) AS double precision) AS rows,
       CAST(count(DISTINCT e.unit_key) AS double precision) AS units,
       CAST(coalesce(sum(e.cost_micros), 0) AS double precision) AS "costMicros"
     ${failed} GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2`,
    values,
  );
  const found = await rows<LoadedRow>(
    `SELECT ${loadedColumns(dialect)} ${failed} ORDER BY e.row_number LIMIT ${limit}`,
    values,
  );
  return { groups, rows: found };
}
