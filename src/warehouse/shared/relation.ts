/**
 * Types of columns. `small` and `long`: integers of 32 and 64 bits; `texts`: a list of texts; `parsed`: JSON that is stored parsed, if the
 * database can do so.
 */
export type SqlType =
  | ('text' | 'texts' | 'boolean' | 'small' | 'integer' | 'long' | 'number')
  | ('time' | 'json' | 'parsed' | 'digest' | 'other');

export interface RelationColumn {
  readonly name: string;
  readonly type: SqlType;
  readonly is: string;
  readonly required?: boolean;
  /** Type of a column of type `other`, in the SQL of the database. */
  readonly own?: string;
}

/** A table or view with its description, for the database's comments and the data dictionary. */
export interface Relation {
  readonly kind: 'TABLE' | 'VIEW';
  readonly name: string;
  readonly is: string;
  readonly columns: readonly RelationColumn[];
  readonly key?: readonly string[];
}
