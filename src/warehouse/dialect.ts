import type { WindowPages } from '../core/events/event-warehouse.js';
import type { FieldType } from '../core/events/state-table.js';
import type { ColumnType } from '../core/rows/column-type.js';
import type { ResultColumn } from './rows/result-column.js';

/**
 * Types of columns. `id`: a text of bounded length; `small`: an integer of 32 bits; `integer` and `long`: of 64 bits; `texts`: a list of texts; `parsed`: JSON that is
 * stored parsed, if the database can do so; `other`: the column of a view, whose query has the type.
 */
export type RelationType =
  | ('text' | 'id' | 'texts' | 'boolean' | 'small' | 'integer' | 'long' | 'number')
  | ('time' | 'json' | 'parsed' | 'digest' | 'other');

export type ColumnTypes = Readonly<Record<Exclude<RelationType, 'other'>, string>>;

export interface RelationColumn {
  readonly name: string;
  readonly type: RelationType;
  readonly is: string;
  readonly required?: boolean;
  /** Whether the database numbers the rows in this column. */
  readonly numbered?: boolean;
}

/** The SQL of one database. Arguments and results are SQL expressions, unless they say otherwise. */
export interface Dialect {
  readonly types: ColumnTypes;
  readonly prefix: string;
  /** Whether every table has its key. A database with keys looks up ids before it inserts events, because keys refuse existing ids. */
  readonly keys: boolean;
  /** Suffix of a column's type, such as a compression. */
  suffix(column: RelationColumn): string;
  /** Column that identifies a row of `row_store`. */
  readonly rowId: string;
  /**
   * Whether `row_store` has the columns `row_exact` and `answer_exact`, and `events` has `event_exact`, because the texts of this database cannot
   * hold every character. Then staged rows have a column `row_exact`, unit records a column `exact`, and events a column `event_exact`.
   */
  readonly keepsExact: boolean;

  now(): string;
  /** A time from a parameter in Unix ms. */
  moment(parameter: string): string;
  /** Unix ms of a time, as a number. */
  millis(time: string): string;
  day(time: string): string;
  text(json: string, path: readonly string[]): string;
  /** Like `text`, with the text that every database writes for a value that is no text. */
  sameText(json: string, path: readonly string[]): string;
  /** Condition: the field of a JSON object is a text. */
  isText(json: string, path: readonly string[]): string;
  /** A JSON text in a form that the database can hold. Not an expression. */
  json(text: string): string;
  /** A text in a form that the database can hold. Not an expression. */
  plain(text: string): string;
  /** A row of a relation as a JSON text, with the names of its columns. Argument: the alias of the relation. */
  asJson(relation: string): string;
  /** A list of texts with as many NULLs as a list has texts. */
  emptied(list: string): string;
  /** Condition: a number is one of those that a query returns. */
  among(number: string, query: string): string;
  /** Relation `r` with a row for each object of the JSON list in the parameter, and these columns. Times are Unix ms. */
  records(parameter: string, columns: readonly RelationColumn[]): string;

  /** Query that adds fields of the JSON column `result` to each row of `from`, as texts in the columns `fact_…`. */
  withFacts(from: string, names: readonly string[]): string;
  /** Condition: the answer of a shared run has an object that names the row. */
  namesRow(response: string, rowHash: string): string;
  /** Reads values from the JSON columns of a relation with an alias, for the rows that meet the condition: the source, and an expression for each value. */
  read(
    relation: string,
    values: readonly Pick<ResultColumn, 'from'>[],
    where?: string,
  ): { readonly from: string; readonly shown: readonly string[] };
  /**
   * Query of `from` with a row for each element of the list at `path` of its JSON column `o`. The query has all columns of `from`, the
   * element as `item`, and the number of the element, from 1, as `position`. With `outer`, a row whose list is empty is kept; `item` and
   * `position` are NULL in this row.
   */
  elements(from: string, o: string, path: readonly string[], item: string, position: string, outer: boolean): string;
  /** A cell of `input` with the type of its column; absent: text. */
  cell(index: number, type?: ColumnType): string;
  /** Whether `cell` is NULL for some values of the type, which are then misfits. */
  isNarrow(type: ColumnType): boolean;
  /** The most columns of a view. */
  readonly maxColumns: number;
  /** Query of the names of tables and views, in lower case, as `name`. */
  readonly namesInUse: string;
  /** Query of the columns of tables and views, see `FoundColumn`. */
  readonly columnsInUse: string;
  /** Query of the comment of the view `$1`, as `comment`. */
  readonly viewComment: string;
  /** A name with its suffix, cut to the limit of the database. Not an expression. */
  cut(name: string, suffix: string): string;

  /** An id in the form that tables hold, see `shortId`. */
  id(text: string): string;
  /** A text as a time; NULL if the text does not fit. */
  time(text: string): string;
  /**
   * Query that adds these fields of the JSON column `o` to each row of `from`, as columns of these types. A value that does not
   * fit its type is NULL in the column, and unchanged in `o`.
   */
  withFields(from: string, fields: readonly Field[]): string;
  /** Query that adds members of the JSON column `data` to each row of `from`, as JSON columns with the names `names`. */
  withMembers(from: string, names: readonly string[]): string;
  /**
   * Query with a row for each object at `path` of the JSON column `data` of `from`; the object is in `o`. `*` stands for the
   * elements of a list.
   */
  withObjects(from: string, path: readonly string[]): string;
  /**
   * Query of the newest version of each object among `from` (`id`, `o`, `version_at`, `event_at`, `event_id`, `deleted_at`), with the time
   * of the object's first deletion.
   */
  newest(from: string): string;
  /** A hash of a content, to compare contents. */
  digest(json: string): string;
}

export interface Field {
  readonly name: string;
  readonly path: readonly string[];
  readonly type: FieldType;
}

/** A parameter of a statement. A list of texts is an array; times are Unix ms, which {@link Dialect.moment} converts. */
export type SqlValue = string | number | boolean | null | readonly string[];

/** What a lock protects: the row numbers of a job, one slice of a job, or the names of views. */
export type RowLock = { readonly job: string; readonly slice?: number } | 'names';

/** Runs statements in one transaction. Parameters are `$1`, `$2`, … */
export interface Transaction {
  readonly dialect: Dialect;
  run(sql: string, values?: readonly SqlValue[]): Promise<void>;
  /** Like `run`, for a statement that looks up many rows in a large table. */
  runOnMany(sql: string, values?: readonly SqlValue[]): Promise<void>;
  rows<Row extends object>(sql: string, values?: readonly SqlValue[]): Promise<readonly Row[]>;
  /** Creates a temporary table with the rows of a query, and drops the table when the transaction ends. */
  createTemp(name: string, query: string, values?: readonly SqlValue[]): Promise<void>;
  /** Waits for the lock, and holds the lock until the transaction ends. */
  lock(lock: RowLock): Promise<void>;
  /**
   * Runs `work` with relations that together have the staged rows of these files: the fields of `StagedRow`, and `slice`, the index of the
   * file. A relation is valid until `work` returns.
   */
  readRows(files: readonly string[], work: (rows: string) => Promise<void>): Promise<void>;
  /**
   * Runs `work` with relations that together have the unit records in these files. A relation is valid until `work` returns. Lines that the
   * database cannot read are left out, or fail. With `careful`, lines that are not JSON are left out, and the others are repaired.
   */
  readUnits(files: readonly string[], careful: boolean, work: (units: string) => Promise<void>): Promise<void>;
  /** Runs `work` with the events of pages, which are valid until `work` returns. */
  readPages<T>(batch: readonly WindowPages[], work: (events: StagedEvents) => Promise<T>): Promise<T>;
}

/**
 * Query of the events of a load: `part` (index in the batch), `page`, `n` (position on the page), `id`, `type`, `created_at` and `data`. With
 * `whole` the query also has `extra` (unknown fields) and, if the database keeps exact events, `event_exact`.
 */
export type StagedEvents = (whole: boolean) => string;
