import type { ColumnType } from '../../core/events/state-table.js';

export type SqlValue = string | number | null;

/** A transaction of a warehouse, as the statements for events need it. Parameters are `$1`, `$2`, … */
export interface EventTransaction {
  run(sql: string, values?: readonly SqlValue[]): Promise<void>;
  /** The same, for a statement that looks many rows up among many. */
  runOnMany(sql: string, values?: readonly SqlValue[]): Promise<void>;
  rows<Row extends object>(sql: string, values?: readonly SqlValue[]): Promise<readonly Row[]>;
}

/** The pages of a load as they lie before the database, until the transaction ends. */
export interface StagedPages {
  /**
   * Query of the events: `part` (index in the batch), `page`, `n` (place on the page), `id`, `type`, `created_at`, `data`, and with
   * `whole` also `extra` (fields that nobody knows) and what else the table `events` of this database has.
   */
  events(whole: boolean): string;
  remove(): Promise<void>;
}

/** What differs between databases in the statements for events. Expressions are SQL. */
export interface EventDialect {
  readonly types: Readonly<Record<ColumnType | 'json' | 'digest' | 'long', string>>;
  /** Whether ids are looked up before events are inserted, always: keys refuse what is there already. */
  readonly looksFirst: boolean;
  /** Columns of `events` beside those that all have. */
  readonly moreEventColumns: readonly { readonly name: string; readonly type: string; readonly is: string }[];
  /** A field of a JSON object as text. */
  text(json: string, path: readonly string[]): string;
  /** A text as a moment; NULL where it is none. */
  time(text: string): string;
  /**
   * Query that adds to each row of `from` these fields of its JSON column `o`, as columns of these types. Values that don't
   * fit are NULL: they are in the object.
   */
  withFields(from: string, fields: readonly Field[]): string;
  /** Query that adds to each row of `from` these members of its JSON column `data`, as JSON columns. */
  withMembers(from: string, names: readonly string[]): string;
  /** Query of `from`, once for each object at `path` of its JSON column `data`, as `o`. `*`: elements of a list. */
  withObjects(from: string, path: readonly string[]): string;
  /**
   * Query of the newest version of each object among `from` (`id`, `o`, `version_at`, `event_at`, `event_id`, `deleted_at`), with
   * the first moment it was deleted at.
   */
  newest(from: string): string;
  /** A number that tells contents apart. */
  digest(json: string): string;
  /** Unix ms of a moment, as a number. */
  millis(time: string): string;
  /** A moment of a parameter in Unix ms. */
  moment(parameter: string): string;
  /** Temporary table, gone when the transaction ends. */
  temp(name: string, query: string): string;
  /** The day of a moment in UTC. */
  day(time: string): string;
}

export interface Field {
  readonly name: string;
  readonly path: readonly string[];
  readonly type: ColumnType;
}
