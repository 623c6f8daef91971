import type { RawRecord } from '../../core/monitors/monitor-warehouse.js';

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

/** The last record of each id. `plain`: a text in a form that the database can hold, see `MonitorDialect`. */
export function uniqueRecords(records: readonly RawRecord[], plain: (text: string) => string): readonly RawRecord[] {
  const found = records.map((one) => ({ ...one, id: plain(one.id) }));
  return [...new Map(found.map((one) => [one.id, one])).values()];
}
