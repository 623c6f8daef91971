import { makeEventTables } from '../../events/make-tables.js';
import { makeMonitorTables } from '../../monitors/monitor-tables.js';
import { makeRowTables } from '../../rows/make-tables.js';
import { makeResultViews } from '../../rows/make-views.js';
import { loadParts } from '../../rows/row-tables.js';
import { compressionOf } from '../dialect/compression.js';
import { duckDbDialect } from '../dialect/event-dialect.js';
import { duckDbResults } from '../dialect/result-dialect.js';
import { duckDbRowDialect } from '../dialect/row-dialect.js';
import { duckDbTables } from '../dialect/sql-dialect.js';

/** Statements that create all tables and views in an empty file. The result is the same as that of all migrations. */
export const newSchema = (): string =>
  [
    makeRowTables(duckDbRowDialect, duckDbTables, [loadParts]),
    makeEventTables(duckDbDialect, { ...duckDbTables, suffix: compressionOf }),
    makeMonitorTables(duckDbTables),
    makeResultViews(duckDbResults),
  ].join('\n');
