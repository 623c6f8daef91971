import { mendForPostgres, withoutNul } from '../shared/mend-escapes.js';
import type { TableStyle } from '../shared/relation.js';
import type { SqlDialect } from '../shared/sql.js';

export const postgresSql: SqlDialect = {
  types: {
    ...{ text: 'text', id: 'text', texts: 'text[]', boolean: 'boolean', number: 'double precision', json: 'json' },
    ...{ time: 'timestamptz', small: 'integer', integer: 'bigint', long: 'bigint', digest: 'bigint', parsed: 'jsonb' },
  },
  moment: (parameter) => `to_timestamp(CAST(${parameter} AS double precision) / 1000)`,
  millis: (time) => `CAST(extract(epoch FROM ${time}) * 1000 AS double precision)`,
  day: (time) => `CAST(${time} AT TIME ZONE 'UTC' AS date)`,
  text: (json, path) => `(${json} #>> '${jsonPath(path)}')`,
  json: mendForPostgres,
  plain: withoutNul,
  asJson: (relation) => `CAST(row_to_json(${relation}) AS text)`,
  texts: (parameter) => `SELECT json_array_elements_text(CAST(${parameter} AS json))`,
};

/** `prefix`: the schema with its dot. */
export const postgresTables = (prefix: string): TableStyle => ({ types: postgresSql.types, prefix, keys: true });

/** Field names here are constants of this code, without characters to escape. */
export function jsonPath(path: readonly string[]): string {
  return `{${path.join(',')}}`;
}
