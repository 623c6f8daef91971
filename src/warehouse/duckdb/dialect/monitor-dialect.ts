import type { MonitorDialect } from '../../monitors/monitor-sql.js';
import { withoutHalves } from '../../shared/mend-escapes.js';
import { duckDbSql } from './sql-dialect.js';

/** The statements for monitors in DuckDB's SQL. */
export const duckDbMonitors: MonitorDialect = {
  ...duckDbSql,
  texts: (parameter) => `SELECT unnest(from_json(CAST(${parameter} AS JSON), '["VARCHAR"]'))`,
  plain: withoutHalves,
};
