import type { EventDialect, Field } from '../events/event-sql.js';
import { shortIdSql } from '../shared/short-id.js';
import { typedValue } from '../shared/typed-value.js';
import { duckDbSql, jsonPath } from './sql-dialect.js';

/** The statements for events in DuckDB's SQL. */
export const duckDbDialect: EventDialect = {
  ...duckDbSql,
  checksIdsFirst: false,
  moreEventColumns: [],
  id: (text) => shortIdSql(text, `sha256(${text})`),
  time: (text) => typedValue(text, 'time'),
  withFields: (from, fields) =>
    // One expression reads all fields, because a separate expression for each field would parse the object again.
    `SELECT * EXCLUDE (facts), ${fields.map((field, index) => `${typed(field, `facts[${index + 1}]`)} AS ${field.name}`).join(', ')}
     FROM (SELECT *, json_extract_string(o, [${fields.map(({ path }) => `'${jsonPath(path)}'`).join(', ')}]) AS facts FROM ${from} s) t`,
  withMembers: (from, names) =>
    `SELECT * EXCLUDE (members), ${names.map((name, index) => `members[${index + 1}] AS ${name}`).join(', ')}
     FROM (SELECT *, json_extract(data, [${names.map((name) => `'${jsonPath([name])}'`).join(', ')}]) AS members FROM ${from} s) t`,
  withObjects: (from, path) => {
    if (path.length === 0) return `SELECT *, data AS o FROM ${from} s`;
    return path.includes('*')
      ? `SELECT *, unnest(json_extract(data, '${jsonPath(path)}')) AS o FROM ${from} s`
      : `SELECT *, json_extract(data, '${jsonPath(path)}') AS o FROM ${from} s`;
  },
  // `max` compares structs field by field. A window function would take twice as long.
  newest: (from) =>
    `SELECT id, v.o AS o, v.version_at AS version_at, v.event_at AS event_at, v.list_order AS list_order, v.event_id AS event_id, deleted_at FROM (
       SELECT id, max({'version_at': version_at, 'event_at': event_at, 'list_order': list_order, 'event_id': event_id, 'o': o}) AS v,
         min(deleted_at) AS deleted_at FROM ${from} s GROUP BY id) r`,
  digest: (json) => `hash(${json})`,
};

function typed({ type }: Field, text: string): string {
  if (type === 'id') return duckDbDialect.id(text);
  return type === 'text' ? text : typedValue(text, type);
}
