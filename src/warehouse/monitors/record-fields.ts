import type { RawRecord } from '../../core/monitors/monitor-warehouse.js';
import type { Dialect, SqlValue, Transaction } from '../dialect.js';
import type { ColumnTypes, Relation, RelationType } from '../shared/relation.js';
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

/** A value as JSON; null without one. */
export function jsonOf(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}

/** An id in the form that the database holds. */
export const heldId = ({ plain }: Dialect, id: string): string => shortId(plain(id));

/** The last record of each id in the form that the database holds. */
export function uniqueRecords(records: readonly RawRecord[], dialect: Dialect): ReadonlyMap<string, RawRecord> {
  return new Map(records.map((one) => [heldId(dialect, one.id), one]));
}

/** Maximum number of parameters of a statement. */
const MOST_VALUES = 2000;

/** Appends rows. Values are in the order of the table's columns: JSON as text, times in Unix ms. */
export async function insert(tx: Transaction, table: Relation, rows: readonly (readonly SqlValue[])[]): Promise<void> {
  const { dialect } = tx;
  const { name, columns } = table;
  const each = Math.max(1, Math.floor(MOST_VALUES / columns.length));
  const names = columns.map((column) => column.name).join(', ');
  for (let from = 0; from < rows.length; from += each) {
    const part = rows.slice(from, from + each);
    const tuples = part.map(
      (_, row) => `(${columns.map(({ type }, at) => placeholder(type, row * columns.length + at + 1)).join(', ')})`,
    );
    const values = part.flatMap((row) => row.map((value, at) => held(columns[at]?.type, value)));
    await tx.run(`INSERT INTO ${name} (${names}) VALUES ${tuples.join(', ')}`, values);
  }

  function placeholder(type: RelationType, number: number): string {
    return type === 'time'
      ? dialect.moment(`$${number}`)
      : `CAST($${number} AS ${dialect.types[type as keyof ColumnTypes]})`;
  }

  function held(type: RelationType | undefined, value: SqlValue): SqlValue {
    if (typeof value !== 'string') return value;
    if (type === 'id') return shortId(dialect.plain(value));
    return type === 'json' ? dialect.json(value) : dialect.plain(value);
  }
}
