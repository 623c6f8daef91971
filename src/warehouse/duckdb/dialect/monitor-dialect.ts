import { type MonitorDialect, wellFormed } from '../../monitors/monitor-sql.js';
import { mendSurrogates } from '../../shared/mend-escapes.js';

/** The statements for monitors in DuckDB's SQL. */
export const duckDbMonitors: MonitorDialect = {
  types: { text: 'VARCHAR', integer: 'BIGINT', number: 'DOUBLE', time: 'TIMESTAMP', json: 'JSON' },
  moment: (parameter) => `make_timestamp_ms(CAST(${parameter} AS BIGINT))`,
  texts: (parameter) => `SELECT unnest(from_json(CAST(${parameter} AS JSON), '["VARCHAR"]'))`,
  json: mendSurrogates,
  text: wellFormed,
};
