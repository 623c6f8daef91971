import type { RelationColumn } from '../../shared/relation.js';

/**
 * Compression of text columns by name. By default DuckDB tries all its methods on each column of each row group. For text columns of events
 * these trials took a tenth of the CPU of loads, and DuckDB mostly chose the same method. For rows the trials took a third of the CPU, and
 * DuckDB chose another method than zstd for answers of a few kilobytes, so that files were three times as large.
 */
export const compressions: Readonly<Record<string, readonly string[]>> = {
  zstd: ['data', 'extra', 'response'],
  // Nearly every row has a different value in these columns.
  uncompressed: ['id', 'event_id', 'object_id', 'item_id', 'external_id', 'url', 'row_hash', 'unit_key'],
  // Many rows have the same value in these columns.
  dictionary: [
    ...['type', 'payload', 'origin', 'webset_id', 'source_id', 'enrichment_id', 'monitor_id'],
    ...['job', 'generation', 'error_tag', 'request_id'],
    ...['status', 'source', 'format', 'entity_type', 'behavior', 'cron', 'timezone'],
  ],
};

/**
 * Returns the suffix of a column's type in CREATE TABLE. The suffix is empty for columns that are not listed above: DuckDB chooses their
 * compression.
 */
export function compressionOf({ name }: RelationColumn): string {
  const method = Object.keys(compressions).find((one) => compressions[one]?.includes(name));
  return method ? ` USING COMPRESSION '${method}'` : '';
}
