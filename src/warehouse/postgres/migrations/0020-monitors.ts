import type { Migration } from '../../../postgres/index.js';
import { makeMonitorTables } from '../../monitors/monitor-tables.js';
import { postgresTables } from '../dialect/sql-dialect.js';

/** Monitors: batches and their audit, quiet hours, runs and results. */
export const monitors: Migration = {
  name: '0020-monitors',
  sql: (schema) => makeMonitorTables(postgresTables(`${schema}.`)),
};
