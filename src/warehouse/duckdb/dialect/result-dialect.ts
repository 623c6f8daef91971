import type { ResultDialect, ResultValue } from '../../rows/make-views.js';
import type { Path } from '../../rows/result-column.js';
import { literal } from '../../shared/duckdb-quote.js';
import { typedValue } from '../../shared/typed-value.js';

const pointer = (path: readonly string[]) => literal(path.map((name) => `/${name}`).join(''));

/** The views of results in DuckDB's SQL. */
export const duckDbResults: ResultDialect = {
  prefix: '',
  read(from, plain, values) {
    // One expression reads all fields, because a separate expression for each field would parse the element again.
    const lists = new Map<string, string[]>();
    const shown = values.map((value) => {
      const { o, column } = value;
      if (column.type !== 'text' && column.type !== 'number') return `${alone(value)} AS ${column.name}`;
      const list = lists.get(o) ?? [];
      lists.set(o, list);
      const text = `${o}_facts[${list.push(pointer(column.path))}]`;
      return `${column.type === 'number' ? typedValue(text, 'number') : onlyText(o, column.path, text)} AS ${column.name}`;
    });
    const facts = [...lists].map(([o, paths]) => `json_extract_string(${o}, [${paths.join(', ')}]) AS ${o}_facts`);
    return `SELECT ${[...plain, ...shown].join(', ')}\nFROM (SELECT ${['*', ...facts].join(', ')} FROM (${from}) e) r`;
  },
  elements(from, o, path, item, position, outer) {
    const list = `json_extract(${o}, '$.${path.join('.')}[*]')`;
    const whole = outer ? `CASE WHEN len(${list}) > 0 THEN ${list} ELSE [NULL] END` : list;
    const numbers = outer
      ? `CASE WHEN len(${list}) > 0 THEN range(1, len(${list}) + 1) ELSE [NULL] END`
      : `range(1, len(${list}) + 1)`;
    return `SELECT *, unnest(${whole}) AS ${item}, unnest(${numbers}) AS ${position} FROM (${from}) s`;
  },
};

/**
 * Returns the expression of a value that is read as a text. A row has an error message if fields of its answer do not fit their types. In
 * such a row, a value that is not a text becomes NULL.
 */
function onlyText(o: string, path: Path, text: string): string {
  return `CASE WHEN error_message IS NULL OR json_type(${o}, ${pointer(path)}) = 'VARCHAR' THEN ${text} END`;
}

function alone({ o, column: { type, path } }: ResultValue): string {
  const at = path.length === 0 ? o : `json_extract(${o}, ${pointer(path)})`;
  switch (type) {
    case 'string':
      return `CASE WHEN json_type(${at}) = 'VARCHAR' THEN json_extract_string(${o}, ${pointer(path)}) END`;
    case 'structure':
      return `CASE WHEN json_type(${at}) NOT IN ('VARCHAR', 'NULL') THEN ${at} END`;
    case 'count':
      return `CASE WHEN json_type(${at}) = 'ARRAY' THEN CAST(json_array_length(${at}) AS BIGINT) END`;
    default:
      return at;
  }
}
