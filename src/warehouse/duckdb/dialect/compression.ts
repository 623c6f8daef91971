import type { RelationColumn } from '../../events/event-tables.js';

/**
 * How columns of events and of their state are compressed. Left alone, DuckDB tries all it has on each column of each row group: of
 * texts that was a tenth of the CPU of loads, mostly to come to the same.
 */
export const compressions: Readonly<Record<string, readonly string[]>> = {
  zstd: ['data', 'extra'],
  // Nearly every row has another one.
  uncompressed: ['id', 'event_id', 'object_id', 'item_id', 'external_id', 'url'],
  // Many rows have the same one.
  dictionary: [
    ...['type', 'payload', 'origin', 'webset_id', 'source_id', 'enrichment_id', 'monitor_id'],
    ...['status', 'source', 'format', 'entity_type', 'behavior', 'cron', 'timezone'],
  ],
};

/** What follows the type of such a column where its table is made. Sentences are left to DuckDB, as is what is no text. */
export function compressionOf({ name }: RelationColumn): string {
  const method = Object.keys(compressions).find((one) => compressions[one]?.includes(name));
  return method ? ` USING COMPRESSION '${method}'` : '';
}
