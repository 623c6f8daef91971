import type { ResultDialect } from '../../rows/make-views.js';
import type { RelationColumn } from '../../rows/result-relations.js';
import { listLength, pathOf, textOf, typed } from './result-sql.js';

/** The views of results in PostgreSQL's SQL. `prefix`: the schema with its dot. */
export function postgresResults(prefix: string): ResultDialect {
  return {
    prefix,
    read(from, plain, values) {
      const shown = values.map(({ o, column }) => `${readValue(o, column, prefix)} AS ${column.name}`);
      return `SELECT ${[...plain, ...shown].join(', ')}\nFROM (${from}) r`;
    },
    elements(from, o, path, item, position, outer) {
      const at = `(s.${o} #> ${pathOf(path)})`;
      const list = `json_array_elements(CASE WHEN json_typeof(${at}) = 'array' THEN ${at} ELSE '[]' END)`;
      return `SELECT s.*, l.${item}, l.${position} FROM (${from}) s
        ${outer ? 'LEFT' : 'INNER'} JOIN LATERAL ${list} WITH ORDINALITY AS l(${item}, ${position}) ON true`;
    },
  };
}

function readValue(o: string, { type, path }: RelationColumn, prefix: string): string {
  const at = path.length === 0 ? o : `(${o} #> ${pathOf(path)})`;
  switch (type) {
    case 'json':
      return at;
    case 'number':
      return typed(`(${o} #>> ${pathOf(path)})`, 'number', prefix);
    case 'string':
      return `CASE WHEN json_typeof(${at}) = 'string' THEN ${textOf(at, prefix)} END`;
    case 'structure':
      return `CASE WHEN json_typeof(${at}) NOT IN ('string', 'null') THEN ${at} END`;
    case 'count':
      return listLength(at);
    // A row has an error message if fields of its answer do not fit their types. In such a row, a value that is not a text becomes NULL.
    default:
      return `CASE WHEN error_message IS NULL OR json_typeof(${at}) = 'string' THEN ${textOf(at, prefix)} END`;
  }
}
