import { makeMonitorTables, monitorTables } from '../../monitors/monitor-tables.js';
import { duckDbTables } from '../dialect/sql-dialect.js';

/**
 * Monitors: batches and their audit, quiet hours, runs and results. If a job's view has the name of one of these tables, the view is
 * renamed.
 */
export const monitors = {
  name: '0020-monitors',
  sql: (taken: ReadonlySet<string>) =>
    [
      ...monitorTables
        .filter(({ name }) => taken.has(name))
        .flatMap(({ name }) => [
          `ALTER VIEW ${name} RENAME TO ${name}_job;`,
          `UPDATE searchflow_jobs SET view_name = '${name}_job' WHERE lower(view_name) = '${name}';`,
        ]),
      makeMonitorTables(duckDbTables),
    ].join('\n'),
} as const;
