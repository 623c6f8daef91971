import type { DuckDBConnection } from '@duckdb/node-api';
import type { Freshness } from '../../../core/purchase/freshness.js';

/**
 * Writes the freshness rules into a temporary table `freshness` of one row, which the SQL of {@link stale} reads. Missing bodies
 * (`rebuyBefore`) concern only the journal: every answer in the warehouse has its body.
 */
export async function useFreshness(connection: DuckDBConnection, freshness: Freshness | undefined): Promise<void> {
  const { listValue, VARCHAR, LIST, BIGINT } = await import('@duckdb/node-api');
  const bigint = (ms: number | undefined) => (ms === undefined ? null : BigInt(Math.trunc(ms)));
  await connection.run(
    `CREATE TEMP TABLE freshness AS SELECT make_timestamp_ms($after::BIGINT) AS fresh_after,
       $tags::VARCHAR[] AS retry_tags, make_timestamp_ms($before::BIGINT) AS retry_before`,
    {
      after: bigint(freshness?.freshAfter),
      tags: listValue([...(freshness?.retryTags ?? [])]),
      before: bigint(freshness?.retryBefore),
    },
    { after: BIGINT, tags: LIST(VARCHAR), before: BIGINT },
  );
}

/** Condition: the answer in a row of `row_store` (alias `alias`) is stale. */
export function stale(alias: string): string {
  return `(${alias}.unit_key IS NOT NULL AND EXISTS (FROM freshness f WHERE ${alias}.fetched_at < f.fresh_after
    OR (${alias}.status = 'error' AND ${alias}.fetched_at < f.retry_before AND list_contains(f.retry_tags, ${alias}.error_tag))))`;
}
