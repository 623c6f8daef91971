import type { Freshness } from '../../../core/purchase/freshness.js';
import type { PgTransaction } from '../../../postgres/index.js';

/**
 * Writes the freshness rules into a temporary table `freshness` of one row, which the SQL of {@link stale} reads. Missing bodies
 * (`rebuyBefore`) concern only the journal: every answer in the warehouse has its body.
 */
export async function useFreshness(tx: PgTransaction, freshness: Freshness | undefined): Promise<void> {
  const moment = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());
  await tx.query(
    'CREATE TEMP TABLE freshness (fresh_after timestamptz, retry_tags text[], retry_before timestamptz) ON COMMIT DROP',
  );
  await tx.query('INSERT INTO freshness VALUES ($1, $2, $3)', [
    moment(freshness?.freshAfter),
    freshness?.retryTags ?? [],
    moment(freshness?.retryBefore),
  ]);
}

/** Condition: the answer in a row of `row_store` (alias `alias`) is stale. */
export function stale(alias: string): string {
  return `(${alias}.unit_key IS NOT NULL AND EXISTS (SELECT FROM freshness f WHERE ${alias}.fetched_at < f.fresh_after
    OR (${alias}.status = 'error' AND ${alias}.fetched_at < f.retry_before AND ${alias}.error_tag = ANY(f.retry_tags))))`;
}
