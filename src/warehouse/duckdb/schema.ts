import { agentRunTables, makeAgentRunTables } from '../agent-run-tables.js';
import { eventTables } from '../events/event-tables.js';
import { makeEventTables } from '../events/make-tables.js';
import { makeMonitorTables, monitorTables } from '../monitors/monitor-tables.js';
import { makeRowTables } from '../rows/make-tables.js';
import { makeResultViews } from '../rows/make-views.js';
import { loadParts, rowTables } from '../rows/row-tables.js';
import { compressionOf } from './dialect/compression.js';
import { duckDbDialect } from './dialect/event-dialect.js';
import { duckDbResults } from './dialect/result-dialect.js';
import { duckDbRowDialect } from './dialect/row-dialect.js';
import { duckDbTables } from './dialect/sql-dialect.js';

/** All tables of a file. Anti-join and append is faster than keys, so only small tables have keys. */
export const tables = [
  ...rowTables(false),
  loadParts,
  ...eventTables(duckDbDialect),
  ...monitorTables,
  ...agentRunTables,
];

const compressed = { ...duckDbTables, suffix: compressionOf };

/** Statements that create all tables and views of the newest version in an empty file. */
export const createSchema = (): string =>
  [
    makeRowTables(duckDbRowDialect, compressed, [loadParts]),
    makeEventTables(duckDbDialect, compressed),
    makeMonitorTables(duckDbTables),
    makeAgentRunTables(duckDbTables),
    makeResultViews(duckDbResults),
  ].join('\n');

/** One step of the schema since the first release. A released step is never changed. */
export interface Migration {
  /** The name begins with a number: `0002-more-prices`. */
  readonly name: string;
  readonly sql: string;
}

/** All steps since the first release, in order. Append only. */
export const migrations: readonly Migration[] = [];
