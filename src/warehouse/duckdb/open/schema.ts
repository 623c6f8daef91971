import { eventTables } from '../../events/event-tables.js';
import { makeEventTables } from '../../events/make-tables.js';
import { makeMonitorTables, monitorTables } from '../../monitors/monitor-tables.js';
import { makeRowTables } from '../../rows/make-tables.js';
import { makeResultViews } from '../../rows/make-views.js';
import { loadParts, rowTables } from '../../rows/row-tables.js';
import { compressionOf } from '../dialect/compression.js';
import { duckDbDialect } from '../dialect/event-dialect.js';
import { duckDbResults } from '../dialect/result-dialect.js';
import { duckDbRowDialect } from '../dialect/row-dialect.js';
import { duckDbTables } from '../dialect/sql-dialect.js';

/** All tables of a file. Anti-join and append is faster than keys, so only small tables have keys. */
export const tables = [...rowTables(false), loadParts, ...eventTables(duckDbDialect), ...monitorTables];

const compressed = { ...duckDbTables, suffix: compressionOf };

/** Statements that create all tables and views of the newest version in an empty file. */
export const createSchema = (): string =>
  [
    makeRowTables(duckDbRowDialect, compressed, [loadParts]),
    makeEventTables(duckDbDialect, compressed),
    makeMonitorTables(duckDbTables),
    makeResultViews(duckDbResults),
  ].join('\n');

/** One step of the schema since the first release. A released step is never changed. */
export interface Migration {
  /** The name begins with a number: `0002-more-prices`. */
  readonly name: string;
  readonly sql: string;
}

/** All steps since the first release, in order. Append only. A test compares their result with that of `createSchema`. */
export const migrations: readonly Migration[] = [
  {
    name: '0002-misfits',
    sql: `
CREATE TABLE misfits (
  job VARCHAR USING COMPRESSION 'dictionary' NOT NULL,
  row_number BIGINT NOT NULL,
  column_name VARCHAR NOT NULL,
  value VARCHAR NOT NULL,
  expected VARCHAR NOT NULL,
  generation VARCHAR USING COMPRESSION 'dictionary' NOT NULL,
  loaded_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE misfits IS 'Values of answers that do not fit the type of their column, so that the view of the job has NULL there. The answers are kept whole. Each row: one value in one row of one job.';
COMMENT ON COLUMN misfits.job IS 'Id of the job.';
COMMENT ON COLUMN misfits.row_number IS 'Number of the row in the input, from 1.';
COMMENT ON COLUMN misfits.column_name IS 'Column of the view of the job.';
COMMENT ON COLUMN misfits.value IS 'First 200 characters of the value, as text.';
COMMENT ON COLUMN misfits.expected IS 'Type of the column: number, integer, boolean, date or time.';
COMMENT ON COLUMN misfits.generation IS 'Generation of the job that loaded the row.';
COMMENT ON COLUMN misfits.loaded_at IS 'Time of the load, UTC.';
COMMENT ON COLUMN searchflow_runs.reason IS 'Reason of a stopped run: budget, credits, key, rate, service, request, failed or person.';`,
  },
];
