import { type ColumnType, isJson, TEXT } from '../../../core/rows/column-type.js';
import { postgresType } from '../../shared/postgres-types.js';

/** Whether PostgreSQL's type lacks values of DuckDB's type: far dates, long intervals, JSON with thousands of levels. */
export const isNarrow = (type: ColumnType): boolean =>
  isJson(type) || (/^(DATE$|TIMESTAMP|INTERVAL)/.test(type) && type !== 'TIMESTAMP_NS');

/**
 * PostgreSQL's expression of a cell of `row_store.input` with the type of its column; NULL for a value that PostgreSQL lacks, see {@link isNarrow}.
 * Nanoseconds are text. `prefix`: the schema with its dot.
 */
export function postgresInput(prefix: string, index: number, type: ColumnType = TEXT): string {
  const cell = `input[${index + 1}]`;
  if (type === TEXT || type === 'TIMESTAMP_NS') return cell;
  if (type === 'BLOB') return `decode(${cell}, 'base64')`;
  const to = isJson(type) ? 'jsonb' : postgresType(type);
  if (!isNarrow(type)) return `${cell}::${to}`;
  const text = /^(DATE$|TIMESTAMP)/.test(type) ? `replace(${cell}, '(BC)', 'BC')` : cell;
  return `${prefix}searchflow_cell(${text}, NULL::${to})`;
}
