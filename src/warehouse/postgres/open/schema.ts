import { partTables, stateTables } from '../../../core/events/state-tables.js';
import type { Schema } from '../../../postgres/index.js';
import { eventTables } from '../../events/event-tables.js';
import { makeEventTables } from '../../events/make-tables.js';
import { makeMonitorTables, monitorTables } from '../../monitors/monitor-tables.js';
import { makeRowTables } from '../../rows/make-tables.js';
import { makeResultViews } from '../../rows/make-views.js';
import { rowTables } from '../../rows/row-tables.js';
import { postgresDialect, readers } from '../dialect/event-dialect.js';
import { postgresResults } from '../dialect/result-dialect.js';
import { postgresRowDialect } from '../dialect/row-dialect.js';
import { postgresTables } from '../dialect/sql-dialect.js';

/** All tables of a schema. */
export const tables = [...rowTables(true), ...eventTables(postgresDialect()), ...monitorTables];

/** Large columns, which are compressed with lz4. */
const large = [
  ['row_store', 'response'],
  ...['events', ...[...stateTables, ...partTables].map(({ name }) => name)].map((table) => [table, 'data']),
] as const;

export const postgresSchema: Schema = {
  kind: 'warehouse',
  create(schema) {
    const prefix = `${schema}.`;
    const style = postgresTables(prefix);
    return [
      readers(prefix),
      makeRowTables(postgresRowDialect(prefix), style),
      makeEventTables(postgresDialect(prefix), style),
      makeMonitorTables(style),
      makeResultViews(postgresResults(prefix)),
      `CREATE INDEX row_store_place ON ${prefix}row_store (job, row_number);`,
      `CREATE INDEX events_load ON ${prefix}events (load_id);`,
      `CREATE INDEX events_time ON ${prefix}events (origin, created_at);`,
      `CREATE INDEX events_item ON ${prefix}events (origin, item_id) WHERE item_id IS NOT NULL;`,
      `CREATE INDEX webset_item_enrichments_item ON ${prefix}webset_item_enrichments (origin, item_id);`,
      lz4(prefix),
    ].join('\n');
  },
  migrations: [
    {
      name: '0002-misfits',
      sql: (schema) => `
CREATE TABLE ${schema}.misfits (
  job text NOT NULL,
  row_number bigint NOT NULL,
  column_name text NOT NULL,
  value text NOT NULL,
  expected text NOT NULL,
  generation text NOT NULL,
  loaded_at timestamptz NOT NULL,
  PRIMARY KEY (job, row_number, column_name)
);
COMMENT ON TABLE ${schema}.misfits IS 'Values of answers that do not fit the type of their column, so that the view of the job has NULL there. The answers are kept whole. Each row: one value in one row of one job.';
COMMENT ON COLUMN ${schema}.misfits.job IS 'Id of the job.';
COMMENT ON COLUMN ${schema}.misfits.row_number IS 'Number of the row in the input, from 1.';
COMMENT ON COLUMN ${schema}.misfits.column_name IS 'Column of the view of the job.';
COMMENT ON COLUMN ${schema}.misfits.value IS 'First 200 characters of the value, as text.';
COMMENT ON COLUMN ${schema}.misfits.expected IS 'Type of the column: number, integer, boolean, date or time.';
COMMENT ON COLUMN ${schema}.misfits.generation IS 'Generation of the job that loaded the row.';
COMMENT ON COLUMN ${schema}.misfits.loaded_at IS 'Time of the load, UTC.';
COMMENT ON COLUMN ${schema}.searchflow_runs.reason IS 'Reason of a stopped run: budget, credits, key, rate, service, request, failed or person.';`,
    },
  ],
};

/**
 * Statement that sets the compression of large columns to lz4, which is several times as fast as the default. The statement changes nothing
 * if the server was built without lz4. The prefix may contain `$$`, so the block has a named dollar quote.
 */
function lz4(prefix: string): string {
  const quoted = prefix.replaceAll("'", "''");
  return `DO $body$ BEGIN
  ${large.map(([table, column]) => `EXECUTE 'ALTER TABLE ${quoted}${table} ALTER COLUMN ${column} SET COMPRESSION lz4';`).join('\n  ')}
EXCEPTION WHEN feature_not_supported OR invalid_parameter_value OR syntax_error THEN NULL;
END $body$;`;
}
