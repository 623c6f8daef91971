import type { ResultDialect } from '../results/make-views.js';
import { literal } from './quote.js';

const pointer = (path: readonly string[]) => literal(path.map((name) => `/${name}`).join(''));

/** The views of results in DuckDB's words. */
export const duckDbResults: ResultDialect = {
  prefix: '',
  value(o, { type, path }) {
    const at = path.length === 0 ? o : `json_extract(${o}, ${pointer(path)})`;
    const text = `json_extract_string(${o}, ${pointer(path)})`;
    switch (type) {
      case 'json':
        return at;
      case 'number':
        return `TRY_CAST(${text} AS DOUBLE)`;
      case 'string':
        return `CASE WHEN json_type(${at}) = 'VARCHAR' THEN ${text} END`;
      case 'structure':
        return `CASE WHEN json_type(${at}) IN ('OBJECT', 'ARRAY') THEN ${at} END`;
      case 'count':
        return `CASE WHEN json_type(${at}) = 'ARRAY' THEN CAST(json_array_length(${at}) AS BIGINT) END`;
      default:
        return text;
    }
  },
  elements(from, o, path, item, place, outer) {
    const list = `json_extract(${o}, '$.${path.join('.')}[*]')`;
    const whole = outer ? `CASE WHEN len(${list}) > 0 THEN ${list} ELSE [NULL] END` : list;
    const numbers = outer
      ? `CASE WHEN len(${list}) > 0 THEN range(1, len(${list}) + 1) ELSE [NULL] END`
      : `range(1, len(${list}) + 1)`;
    return `SELECT *, unnest(${whole}) AS ${item}, unnest(${numbers}) AS ${place} FROM (${from}) s`;
  },
};
