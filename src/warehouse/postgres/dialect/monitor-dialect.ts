import type { MonitorDialect } from '../../monitors/monitor-sql.js';
import { withoutNul } from '../../shared/mend-escapes.js';
import { postgresSql } from './sql-dialect.js';

/** The statements for monitors in PostgreSQL's SQL. */
export const postgresMonitors: MonitorDialect = {
  ...postgresSql,
  texts: (parameter) => `SELECT json_array_elements_text(CAST(${parameter} AS json))`,
  plain: withoutNul,
};
