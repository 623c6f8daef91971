import { partTables, stateTables } from '../../../core/events/state-tables.js';
import { makeEventTables } from '../../events/make-tables.js';
import { postgresDialect, readers } from '../events/postgres-dialect.js';

const withData = ['events', ...[...stateTables, ...partTables].map(({ name }) => name)];

/** Webset events and the current state made of them; see docs/decisions/0013. */
export const events = {
  name: '0010-events',
  sql: (schema: string) => {
    const prefix = `${schema}.`;
    return `${readers(prefix)}
${makeEventTables(postgresDialect(prefix), { prefix, jsonSuffix: '', keys: true })}
CREATE INDEX events_load ON ${prefix}events (load_id);
CREATE INDEX events_time ON ${prefix}events (origin, created_at);
CREATE INDEX events_item ON ${prefix}events (origin, item_id) WHERE item_id IS NOT NULL;
CREATE INDEX webset_item_enrichments_item ON ${prefix}webset_item_enrichments (origin, item_id);
DO $$ BEGIN
  -- Several times as fast as the default, where the server was built with it.
  ${withData.map((table) => `EXECUTE 'ALTER TABLE ${prefix.replaceAll("'", "''")}${table} ALTER COLUMN data SET COMPRESSION lz4';`).join('\n  ')}
EXCEPTION WHEN feature_not_supported OR invalid_parameter_value OR syntax_error THEN NULL;
END $$;`;
  },
};
