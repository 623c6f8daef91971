import { makeMonitorTables } from '../../monitors/monitor-tables.js';
import { makeRowTables } from '../../rows/make-tables.js';
import { makeResultViews } from '../../rows/make-views.js';
import { postgresResults } from '../dialect/result-dialect.js';
import { postgresRowDialect } from '../dialect/row-dialect.js';
import { postgresTables } from '../dialect/sql-dialect.js';
import { events } from '../migrations/0010-events.js';
import { readerPath } from '../migrations/0072-reader-path.js';
import { lz4 } from '../migrations/lz4.js';

/** Statements that create all tables and views in an empty schema (quoted). The result is the same as that of all migrations. */
export function newSchema(schema: string): string {
  const prefix = `${schema}.`;
  return [
    makeRowTables(postgresRowDialect(prefix), postgresTables(prefix)),
    `CREATE INDEX row_store_place ON ${prefix}row_store (job, row_number);`,
    lz4(schema, [['row_store', 'response']]),
    events.sql(schema),
    makeMonitorTables(postgresTables(prefix)),
    makeResultViews(postgresResults(prefix)),
    readerPath.sql(schema),
  ].join('\n');
}
