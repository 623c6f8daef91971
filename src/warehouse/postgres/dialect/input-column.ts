import { type ColumnType, isJson, TEXT } from '../../../core/rows/column-type.js';
import { postgresType } from '../../shared/postgres-types.js';

/**
 * PostgreSQL's expression of a cell of `row_store.input` with the type of its column. A cell that PostgreSQL cannot hold is NULL, such as a day
 * before 4713 BC or JSON with thousands of levels. `prefix`: the schema with its dot.
 */
export function postgresInput(prefix: string, index: number, type: ColumnType = TEXT): string {
  const cell = `input[${index + 1}]`;
  if (type === TEXT) return cell;
  if (type === 'BLOB') return `decode(${cell}, 'base64')`;
  const to = isJson(type) ? 'jsonb' : postgresType(type);
  if (!isJson(type) && !/^(DATE$|TIMESTAMP|INTERVAL)/.test(type)) return `${cell}::${to}`;
  const text = /^(DATE$|TIMESTAMP)/.test(type) ? `replace(${cell}, '(BC)', 'BC')` : cell;
  return `${prefix}searchflow_cell(${text}, NULL::${to})`;
}
