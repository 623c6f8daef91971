import { partTables, stateTables } from '../../../core/events/state-tables.js';
import { makeEventTables } from '../../events/make-tables.js';
import { postgresDialect, readers } from '../dialect/event-dialect.js';
import { postgresTables } from '../dialect/sql-dialect.js';
import { lz4 } from './lz4.js';

const withData = ['events', ...[...stateTables, ...partTables].map(({ name }) => name)];

/** Webset events and the current state made from these events; see docs/decisions/0013. */
export const events = {
  name: '0010-events',
  sql: (schema: string) => {
    const prefix = `${schema}.`;
    return `${readers(prefix)}
${makeEventTables(postgresDialect(prefix), postgresTables(prefix))}
CREATE INDEX events_load ON ${prefix}events (load_id);
CREATE INDEX events_time ON ${prefix}events (origin, created_at);
CREATE INDEX events_item ON ${prefix}events (origin, item_id) WHERE item_id IS NOT NULL;
CREATE INDEX webset_item_enrichments_item ON ${prefix}webset_item_enrichments (origin, item_id);
${lz4(
  schema,
  withData.map((table) => [table, 'data']),
)}`;
  },
};
