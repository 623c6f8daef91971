/**
 * Types of values that are read from an answer. What doesn't fit its type is NULL; the answer itself is always there. `text`: of
 * whatever is there; `string`: the same, unless the row says that fields of its answer don't fit their types.
 */
export type ValueType = 'text' | 'string' | 'number' | 'integer' | 'boolean' | 'date' | 'time' | 'json';

/** Where in an answer a value is. */
export type Path = readonly string[];

/** A column that a job's view has behind the user's own. */
export interface ResultColumn {
  readonly name: string;
  /** Exports to CSV have it. */
  readonly csv: boolean;
  readonly from:
    | { readonly stored: StoredColumn }
    | {
        readonly path: Path;
        readonly type: ValueType;
        /** The path begins at the answer, or at the part of it that is about the row. */
        readonly of: 'response' | 'row';
      }
    | { readonly count: Path };
}

/** Columns that every row has. */
export type StoredColumn = (typeof storedColumns)[number];
export const storedColumns = [
  'status',
  'error_tag',
  'error_message',
  'http_status',
  'title',
  'author',
  'published_date',
  'response',
  'request_id',
  'cost_dollars',
  'fetched_at',
  'row_number',
] as const;

export const stored = (name: StoredColumn, csv = true): ResultColumn => ({ name, csv, from: { stored: name } });
export const read = (name: string, path: Path, type: ValueType = 'string', csv = true): ResultColumn => ({
  name,
  csv,
  from: { path, type, of: 'response' },
});
