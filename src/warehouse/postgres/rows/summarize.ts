import type { WarehouseSummary } from '../../../core/rows/row-warehouse.js';
import type { PgTransaction } from '../../../postgres/index.js';
import { summaryOf, unknownJob } from '../../shared/warehouse-summary.js';

/** See `RowWarehouse.summary`. */
export async function summarize(tx: PgTransaction, job: string, shown: string): Promise<WarehouseSummary> {
  const [record] = await tx.query<{ rows: string }>('SELECT rows FROM searchflow_jobs WHERE job = $1', [job]);
  if (record === undefined) throw unknownJob(job, shown);
  const groups = await tx.query<{ status: string; tag: string | null; count: string }>(
    `SELECT CASE WHEN vanished_at IS NULL THEN status ELSE 'vanished' END AS status, error_tag AS tag, count(*)
     FROM row_store WHERE job = $1 AND (outdated_at IS NULL OR vanished_at IS NOT NULL) GROUP BY 1, 2 ORDER BY 3 DESC, 2`,
    [job],
  );
  return summaryOf(
    Number(record.rows),
    groups.map(({ status, tag, count }) => ({ status, tag, count: Number(count) })),
  );
}
