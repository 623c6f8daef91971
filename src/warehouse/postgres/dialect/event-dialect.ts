import type { EventDialect, Field } from '../../events/event-sql.js';
import { column } from '../../shared/relation.js';
import { jsonPath, postgresSql } from './sql-dialect.js';

/**
 * The statements for events in PostgreSQL's SQL. `prefix`: the schema with its dot, if the schema is not in the search path.
 */
export function postgresDialect(prefix = ''): EventDialect {
  const reader = (what: 'time' | 'number' | 'integer') => (text: string) => `${prefix}searchflow_${what}(${text})`;
  const typed = ({ type }: Field, text: string) => (type === 'text' ? text : reader(type)(text));
  return {
    checksIdsFirst: true,
    ...postgresSql,
    moreEventColumns: [
      column(
        'json',
        'event_exact',
        'The unchanged event, only if jsonb cannot store it (NUL, half a surrogate pair, number out of range); data then has a text such as \\u0000 instead.',
      ),
    ],
    time: reader('time'),
    withFields: (from, fields) =>
      `SELECT s.*, ${fields.map((field) => `${typed(field, `(o #>> '${jsonPath(field.path)}')`)} AS ${field.name}`).join(', ')} FROM ${from} s`,
    withMembers: (from, names) =>
      `SELECT s.*, ${names.map((name) => `data -> '${name}' AS ${name}`).join(', ')} FROM ${from} s`,
    withObjects: (from, path) => {
      const star = path.indexOf('*');
      if (star < 0)
        return `SELECT s.*, ${path.length === 0 ? 'data' : `data #> '${jsonPath(path)}'`} AS o FROM ${from} s`;
      const list = `data #> '${jsonPath(path.slice(0, star))}'`;
      return `SELECT s.*, l.value #> '${jsonPath(path.slice(star + 1))}' AS o FROM ${from} s
        CROSS JOIN LATERAL jsonb_array_elements(CASE WHEN jsonb_typeof(${list}) = 'array' THEN ${list} ELSE '[]' END) l`;
    },
    newest: (from) =>
      `SELECT id, o, version_at, event_at, event_id, first_deleted AS deleted_at FROM (
       SELECT *, row_number() OVER (PARTITION BY id ORDER BY version_at DESC, event_at DESC, event_id DESC) AS turn,
         min(deleted_at) OVER (PARTITION BY id) AS first_deleted FROM ${from} s) r WHERE turn = 1`,
    digest: (json) => `jsonb_hash_extended(${json}, 0)`,
  };
}

/** Times in the format of the service. Only days up to 28 match, because every month has these days. */
const PLAIN_TIME =
  '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?Z$';
/** The zone at the end of a time. A text without a zone is UTC, in any session. */
const ZONED = '(Z|[+-][0-9]{2}(:?[0-9]{2})?)$';
const PLAIN_NUMBER = '^-?[0-9]{1,15}$';

/**
 * SQL functions that read a text as a value, or as NULL if the text does not fit: a cast would fail the whole load. Plain values are cast
 * directly, because a block with an exception handler costs more than the cast. The functions resolve names only in PostgreSQL's own schema,
 * because views call them in sessions of other programs, whose search path may begin with another schema.
 */
export function readers(prefix: string): string {
  const reader = (name: string, type: string, plain: string, expression: string) => `
CREATE FUNCTION ${prefix}searchflow_${name}(given text) RETURNS ${type} LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path TO pg_catalog, pg_temp AS $$ BEGIN
  IF given ~ '${plain}' THEN RETURN given::${type}; END IF;
  BEGIN RETURN ${expression}; EXCEPTION WHEN data_exception THEN RETURN NULL; END;
END $$;`;
  return [
    reader(
      'time',
      'timestamptz',
      PLAIN_TIME,
      `CASE WHEN given !~ '^[0-9]{4}-[0-9]{2}-' THEN NULL WHEN given ~ '${ZONED}' THEN given::timestamptz ELSE given::timestamp AT TIME ZONE 'UTC' END`,
    ),
    reader('number', 'double precision', PLAIN_NUMBER, 'given::double precision'),
    reader('integer', 'bigint', PLAIN_NUMBER, 'round(given::numeric)::bigint'),
  ].join('');
}
