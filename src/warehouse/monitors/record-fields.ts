import type { RawRecord } from '../../core/monitors/monitor-warehouse.js';
import type { Dialect, Transaction } from '../dialect.js';
import { insertInto, recordsOf } from '../rows/row-sql.js';
import type { Relation } from '../shared/relation.js';
import { shortId } from '../shared/short-id.js';

/** The fields of an object; none for another value. */
export function fieldsOf(value: unknown): { readonly [name: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

/** A value as text: null without one, JSON for a value that is no text. */
export function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** An id in the form that the database holds. */
export const heldId = ({ plain }: Dialect, id: string): string => shortId(plain(id));

/** The last record of each id in the form that the database holds. */
export function uniqueRecords(records: readonly RawRecord[], dialect: Dialect): ReadonlyMap<string, RawRecord> {
  return new Map(records.map((one) => [heldId(dialect, one.id), one]));
}

/** Values of a row by the names of columns. JSON comes as it is, times in Unix ms. A column without a value is NULL. */
export type TableRecord = { readonly [column: string]: unknown };

/** Appends records to a table. JSON is sent as text, because DuckDB would rewrite the numbers in it. */
export async function insert(tx: Transaction, table: Relation, records: readonly TableRecord[]): Promise<void> {
  if (records.length === 0) return;
  const { dialect } = tx;
  const jsons = table.columns.filter(({ type }) => type === 'json').map(({ name }) => name);
  const columns = table.columns.map((one) => (one.type === 'json' ? ({ ...one, type: 'text' } as const) : one));
  const { values, from } = recordsOf(tx, { ...table, columns });
  for (const name of jsons) values[name] = `CAST(r.${name} AS json)`;
  const sent = records.map((record) => {
    const texts = jsons.map((name) => [name, record[name] == null ? null : dialect.json(JSON.stringify(record[name]))]);
    return { ...record, ...Object.fromEntries(texts) };
  });
  await tx.run(insertInto(table.name, values, from), [dialect.json(JSON.stringify(sent))]);
}
