import type { EventDialect, Field } from '../../events/event-sql.js';

/** The statements for events in DuckDB's SQL. */
export const duckDbDialect: EventDialect = {
  types: {
    text: 'VARCHAR',
    integer: 'BIGINT',
    number: 'DOUBLE',
    time: 'TIMESTAMP',
    json: 'JSON',
    digest: 'UBIGINT',
    long: 'BIGINT',
  },
  checksIdsFirst: false,
  moreEventColumns: [],
  text: (json, path) => `json_extract_string(${json}, '${pathOf(path)}')`,
  time,
  withFields: (from, fields) =>
    // One expression reads all fields, because a separate expression for each field would parse the object again.
    `SELECT * EXCLUDE (facts), ${fields.map((field, index) => `${typed(field, `facts[${index + 1}]`)} AS ${field.name}`).join(', ')}
     FROM (SELECT *, json_extract_string(o, [${fields.map(({ path }) => `'${pathOf(path)}'`).join(', ')}]) AS facts FROM ${from} s) t`,
  withMembers: (from, names) =>
    `SELECT * EXCLUDE (members), ${names.map((name, index) => `members[${index + 1}] AS ${name}`).join(', ')}
     FROM (SELECT *, json_extract(data, [${names.map((name) => `'${pathOf([name])}'`).join(', ')}]) AS members FROM ${from} s) t`,
  withObjects: (from, path) => {
    if (path.length === 0) return `SELECT *, data AS o FROM ${from} s`;
    return path.includes('*')
      ? `SELECT *, unnest(json_extract(data, '${pathOf(path)}')) AS o FROM ${from} s`
      : `SELECT *, json_extract(data, '${pathOf(path)}') AS o FROM ${from} s`;
  },
  // `max` compares structs field by field. A window function would take twice as long.
  newest: (from) =>
    `SELECT id, v.o AS o, v.version_at AS version_at, v.event_at AS event_at, v.event_id AS event_id, deleted_at FROM (
       SELECT id, max({'version_at': version_at, 'event_at': event_at, 'event_id': event_id, 'o': o}) AS v,
         min(deleted_at) AS deleted_at FROM ${from} s GROUP BY id) r`,
  digest: (json) => `hash(${json})`,
  millis: (moment) => `CAST(epoch_ms(${moment}) AS DOUBLE)`,
  moment: (parameter) => `make_timestamp_ms(CAST(${parameter} AS BIGINT))`,
  temp: (name, query) => `CREATE TEMP TABLE ${name} AS ${query}`,
  day: (moment) => `CAST(${moment} AS DATE)`,
};

/** Casts through a time with a zone, because a plain cast would drop an offset. A text without a zone is UTC. */
function time(text: string): string {
  return `make_timestamp(epoch_us(TRY_CAST(${text} AS TIMESTAMPTZ)))`;
}

function typed({ type }: Field, text: string): string {
  if (type === 'text') return text;
  return type === 'time' ? time(text) : `TRY_CAST(${text} AS ${type === 'number' ? 'DOUBLE' : 'BIGINT'})`;
}

/** Field names here are constants of this code, without characters to escape. */
function pathOf(path: readonly string[]): string {
  return `$${path.map((name) => (name === '*' || /^\d+$/.test(name) ? `[${name}]` : `.${name}`)).join('')}`;
}
