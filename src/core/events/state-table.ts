import type { PayloadKind } from './payloads.js';

/** Lists and objects have no columns: they are in `data`, which every table has. */
export type ColumnType = 'text' | 'integer' | 'number' | 'time';

/** A column made of a field of the object. `path`: names of the fields on the way, from the object. */
export interface StateColumn {
  readonly name: string;
  readonly path: readonly string[];
  readonly type: ColumnType;
  readonly is: string;
}

/** Where objects of a table are found. */
export interface StateSource {
  /** In events with this payload … */
  readonly payload: PayloadKind;
  /** … under these fields; `*` is each element of a list. Empty: the payload itself. */
  readonly path: readonly string[];
  /** Events of these types say that the object is gone. */
  readonly deletes?: readonly string[];
}

/**
 * A table of current state: one row an object, as its newest version has it. Versions are compared by the object's `updatedAt`
 * (or the event's `createdAt`), then the event's `createdAt`, then the event's id; a deletion, once seen, stays.
 */
export interface StateTable {
  readonly name: string;
  readonly is: string;
  readonly sources: readonly StateSource[];
  readonly columns: readonly StateColumn[];
}

/** A table whose rows are the elements of a list in another table's objects: it is made anew with each of them. */
export interface PartTable {
  readonly name: string;
  readonly is: string;
  readonly of: string;
  /** Column for the id of the object that the row is a part of. */
  readonly owner: string;
  readonly path: string;
  readonly columns: readonly StateColumn[];
}

/** A column for a field of the same name in camel case. */
export function field(type: ColumnType, name: string, is: string, ...path: string[]): StateColumn {
  const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return { name, type, is, path: path.length > 0 ? path : [camel] };
}

/** Columns that most objects have. */
export const common = {
  status: field('text', 'status', 'Status as the service gives it.'),
  webset: field('text', 'webset_id', 'Webset it belongs to.'),
  created: field('time', 'created_at', 'When it was created, UTC.'),
  updated: field('time', 'updated_at', 'When it last changed, UTC.'),
} as const;
