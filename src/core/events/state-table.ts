import type { PayloadKind } from './payloads.js';

/** `id`: a text of bounded length. Lists and objects have no columns of their own; the column `data` of every table has the lists and objects. */
export type FieldType = 'text' | 'id' | 'integer' | 'number' | 'time';

/** A column for a field of the object. `path`: the names of fields that lead to this field. */
export interface StateColumn {
  readonly name: string;
  readonly path: readonly string[];
  readonly type: FieldType;
  readonly is: string;
}

/** The events and fields that hold the objects of a table. */
export interface StateSource {
  readonly payload: PayloadKind;
  /** The fields that lead from the payload to the objects; `*` is each element of a list. An empty path means the payload itself. */
  readonly path: readonly string[];
  /** Types of events that delete the object. */
  readonly deletes?: readonly string[];
}

/**
 * A table of current state: one row for each object, in its newest version. Versions are compared by the object's `updatedAt` (or the
 * event's `createdAt`), then the event's `createdAt`, then the order in which the service lists the events; a deletion is final.
 */
export interface StateTable {
  readonly name: string;
  readonly is: string;
  /** What one row stands for. */
  readonly row: string;
  readonly sources: readonly StateSource[];
  readonly columns: readonly StateColumn[];
}

/** A table whose rows are the elements of a list in another table's objects. Each change of an object replaces the rows of that object. */
export interface PartTable {
  readonly name: string;
  readonly is: string;
  /** What one row stands for. */
  readonly row: string;
  readonly of: string;
  /** The column with the id of the object that contains the row. */
  readonly owner: string;
  readonly path: string;
  readonly columns: readonly StateColumn[];
}

/** Declares a column. The default path is the name of the column in camel case. */
export function field(type: FieldType, name: string, is: string, ...path: string[]): StateColumn {
  const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return { name, type, is, path: path.length > 0 ? path : [camel] };
}

/** Columns that most objects have. */
export const common = {
  status: field('text', 'status', 'Status as the service gives it.'),
  webset: field('id', 'webset_id', 'Webset that it belongs to.'),
  created: field('time', 'created_at', 'When it was created, UTC.'),
  updated: field('time', 'updated_at', 'When it last changed, UTC.'),
} as const;
