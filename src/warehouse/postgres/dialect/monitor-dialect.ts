import { type MonitorDialect, wellFormed } from '../../monitors/monitor-sql.js';
import { postgresSql } from './sql-dialect.js';

/** The statements for monitors in PostgreSQL's SQL. */
export const postgresMonitors: MonitorDialect = {
  ...postgresSql,
  texts: (parameter) => `SELECT json_array_elements_text(CAST(${parameter} AS json))`,
  // PostgreSQL's text cannot hold NUL, so the six characters `\u0000` replace it.
  plain: (text) => wellFormed(text).replaceAll('\u0000', '\\u0000'),
};
