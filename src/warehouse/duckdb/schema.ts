import { agentRunTables, makeAgentRunTables } from '../agent-run-tables.js';
import { eventTables } from '../events/event-tables.js';
import { makeEventTables } from '../events/make-tables.js';
import { makeMonitorTables, monitorTables } from '../monitors/monitor-tables.js';
import { makeRowTables } from '../rows/make-tables.js';
import { makeResultViews, type ResultDialect, type ResultValue } from '../rows/make-views.js';
import type { Path } from '../rows/result-column.js';
import { loadParts, rowTables } from '../rows/row-tables.js';
import { literal } from '../shared/duckdb-quote.js';
import type { RelationColumn } from '../shared/relation.js';
import { typedValue } from '../shared/typed-value.js';
import { duckDbDialect } from './event-dialect.js';
import { duckDbRowDialect } from './row-dialect.js';
import { duckDbTables } from './sql-dialect.js';

/** All tables of a file. Anti-join and append is faster than keys, so only small tables have keys. */
export const tables = [
  ...rowTables(false),
  loadParts,
  ...eventTables(duckDbDialect),
  ...monitorTables,
  ...agentRunTables,
];

const compressed = { ...duckDbTables, suffix: compressionOf };

/** Statements that create all tables and views of the newest version in an empty file. */
export const createSchema = (): string =>
  [
    makeRowTables(duckDbRowDialect, compressed, [loadParts]),
    makeEventTables(duckDbDialect, compressed),
    makeMonitorTables(duckDbTables),
    makeAgentRunTables(duckDbTables),
    makeResultViews(duckDbResults),
  ].join('\n');

/** One step of the schema since the first release. A released step is never changed. */
export interface Migration {
  /** The name begins with a number: `0002-more-prices`. */
  readonly name: string;
  readonly sql: string;
}

/** All steps since the first release, in order. Append only. */
export const migrations: readonly Migration[] = [];

/**
 * Compression of text columns by name. By default DuckDB tries all its methods on each column of each row group. For text columns of events
 * these trials took a tenth of the CPU of loads, and DuckDB mostly chose the same method. For rows the trials took a third of the CPU, and
 * DuckDB chose another method than zstd for answers of a few kilobytes, so that files were three times as large.
 */
export const compressions: Readonly<Record<string, readonly string[]>> = {
  zstd: ['data', 'extra', 'response'],
  // Nearly every row has a different value in these columns.
  uncompressed: ['id', 'event_id', 'object_id', 'item_id', 'external_id', 'url', 'row_hash', 'unit_key'],
  // Many rows have the same value in these columns.
  dictionary: [
    ...['type', 'payload', 'origin', 'webset_id', 'source_id', 'enrichment_id', 'monitor_id'],
    ...['job', 'generation', 'error_tag', 'request_id'],
    ...['status', 'source', 'format', 'entity_type', 'behavior', 'cron', 'timezone'],
  ],
};

/**
 * Returns the suffix of a column's type in CREATE TABLE. The suffix is empty for columns that are not listed above: DuckDB chooses their
 * compression.
 */
function compressionOf({ name }: RelationColumn): string {
  const method = Object.keys(compressions).find((one) => compressions[one]?.includes(name));
  return method ? ` USING COMPRESSION '${method}'` : '';
}

const pointer = (path: readonly string[]) => literal(path.map((name) => `/${name}`).join(''));

/** The views of results in DuckDB's SQL. */
const duckDbResults: ResultDialect = {
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
