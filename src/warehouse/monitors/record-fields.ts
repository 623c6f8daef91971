import type { RawRecord } from '../../core/monitors/monitor-warehouse.js';
import { shortId } from '../shared/short-id.js';
import type { MonitorDialect } from './monitor-sql.js';

/** The fields of an object; none for another value. */
export function fieldsOf(value: unknown): { readonly [name: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

/** A value as text: null without one, JSON for a value that is no text. */
export function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** A value as JSON; null without one. */
export function jsonOf(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}

/** An id in the form that the database holds. */
export const heldId = ({ plain }: Pick<MonitorDialect, 'plain'>, id: string): string => shortId(plain(id));

/** The last record of each id in the form that the database holds. */
export function uniqueRecords(records: readonly RawRecord[], dialect: MonitorDialect): ReadonlyMap<string, RawRecord> {
  return new Map(records.map((one) => [heldId(dialect, one.id), one]));
}
