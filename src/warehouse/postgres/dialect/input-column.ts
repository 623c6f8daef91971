import { type ColumnType, isJson, TEXT } from '../../../core/rows/column-type.js';
import { postgresType } from '../../shared/postgres-types.js';

/** Dates before 4713 BC or after 5874897, which PostgreSQL does not hold. */
const FAR = '^(\\d{5,}|471[4-9]|47[2-9]\\d|4[89]\\d\\d|[5-9]\\d{3})-.*BC|^58(74(89[89]|9\\d\\d)|7[5-9]\\d{3}|8\\d{4})-';

/**
 * PostgreSQL's expression of a cell of `row_store.input` with the type of its column. PostgreSQL has no cast that gives NULL, so texts that it
 * cannot hold are NULL or changed first: an escaped NUL or half a surrogate pair in JSON, and the era of a date or its far years.
 */
export function postgresInput(index: number, type: ColumnType = TEXT): string {
  const cell = `input[${index + 1}]`;
  if (type === TEXT) return cell;
  if (type === 'BLOB') return `decode(${cell}, 'base64')`;
  if (isJson(type)) return `CASE WHEN ${cell} !~ '\\\\u(0000|[dD][89a-fA-F])' THEN ${cell}::jsonb END`;
  const to = postgresType(type);
  if (!/^(DATE$|TIMESTAMP)/.test(type)) return `${cell}::${to}`;
  return `CASE WHEN ${cell} !~ '${FAR}' THEN replace(${cell}, '(BC)', 'BC')::${to} END`;
}
