import { type MonitorDialect, wellFormed } from '../../monitors/monitor-sql.js';
import { mendForPostgres } from '../../shared/mend-escapes.js';

/** The statements for monitors in PostgreSQL's SQL. */
export const postgresMonitors: MonitorDialect = {
  types: { text: 'text', integer: 'bigint', number: 'double precision', time: 'timestamptz', json: 'json' },
  moment: (parameter) => `to_timestamp(CAST(${parameter} AS double precision) / 1000)`,
  texts: (parameter) => `SELECT json_array_elements_text(CAST(${parameter} AS json))`,
  json: mendForPostgres,
  // PostgreSQL's text cannot hold NUL, so the six characters `\u0000` replace it.
  text: (text) => wellFormed(text).replaceAll('\u0000', '\\u0000'),
};
