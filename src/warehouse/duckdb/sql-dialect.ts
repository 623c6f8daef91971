import { mendSurrogates, withoutHalves } from '../shared/mend-escapes.js';
import type { TableStyle } from '../shared/relation.js';
import type { SqlDialect } from '../shared/sql.js';

export const duckDbSql: SqlDialect = {
  types: {
    ...{ text: 'VARCHAR', id: 'VARCHAR', texts: 'VARCHAR[]', boolean: 'BOOLEAN', number: 'DOUBLE', time: 'TIMESTAMP' },
    ...{ small: 'INTEGER', integer: 'BIGINT', long: 'BIGINT', digest: 'UBIGINT', json: 'JSON', parsed: 'JSON' },
  },
  moment: (parameter) => `make_timestamp_ms(CAST(${parameter} AS BIGINT))`,
  millis: (time) => `CAST(epoch_ms(${time}) AS DOUBLE)`,
  day: (time) => `CAST(${time} AS DATE)`,
  text: (json, path) => `json_extract_string(${json}, '${jsonPath(path)}')`,
  json: mendSurrogates,
  plain: withoutHalves,
  asJson: (relation) => `CAST(to_json(${relation}) AS VARCHAR)`,
  texts: (parameter) => `SELECT unnest(from_json(CAST(${parameter} AS JSON), '["VARCHAR"]'))`,
};

export const duckDbTables: TableStyle = { types: duckDbSql.types, prefix: '', keys: false };

/** Field names here are constants of this code, without characters to escape. */
export function jsonPath(path: readonly string[]): string {
  return `$${path.map((name) => (name === '*' || /^\d+$/.test(name) ? `[${name}]` : `.${name}`)).join('')}`;
}
