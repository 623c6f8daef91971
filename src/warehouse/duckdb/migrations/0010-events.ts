import { makeEventTables } from '../../events/make-tables.js';
import { compressionOf } from '../dialect/compression.js';
import { duckDbDialect } from '../dialect/event-dialect.js';
import { duckDbTables } from '../dialect/sql-dialect.js';

/** Webset events and the current state made from these events. Anti-join and append is faster than keys. */
export const events = {
  name: '0010-events',
  sql: makeEventTables(duckDbDialect, { ...duckDbTables, suffix: compressionOf }),
} as const;
