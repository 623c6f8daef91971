import type { WindowPages } from '../../core/events/event-warehouse.js';
import type { ColumnType } from '../../core/events/state-table.js';
import type { RelationColumn } from '../shared/relation.js';
import type { SqlDialect, SqlTransaction, SqlValue } from '../shared/sql.js';

/** Runs the statements for events in one transaction. */
export interface EventTransaction extends SqlTransaction<EventDialect> {
  /** Like `run`, for a statement that looks up many rows in a large table. */
  runOnMany(sql: string, values?: readonly SqlValue[]): Promise<void>;
  /** Copies pages to where the statements of this transaction can read them. */
  stage(batch: readonly WindowPages[]): Promise<StagedPages>;
}

/** The pages of a load as the database sees them until the transaction ends. */
export interface StagedPages {
  /**
   * Query of the events: `part` (index in the batch), `page`, `n` (position on the page), `id`, `type`, `created_at` and `data`. With
   * `whole` the query also has `extra` (unknown fields) and `moreEventColumns`.
   */
  events(whole: boolean): string;
  remove(): Promise<void>;
}

/**
 * Purpose of a transaction. `read` changes nothing, `write` changes watermarks and events, `fold` updates the current state during loads
 * and `foldAll` after the last load; `all` does all of these.
 */
export type EventPurpose = 'read' | 'write' | 'fold' | 'foldAll' | 'all';

/** The parts of a database for `createEventStore`. */
export interface EventDatabase {
  readonly dialect: EventDialect;
  /** Runs work in one transaction. Transactions that change the same tables run one at a time, see `EventPurpose`. */
  transaction<T>(purpose: EventPurpose, work: (tx: EventTransaction) => Promise<T>): Promise<T>;
}

/** The SQL of one database in the statements for events. Expressions are SQL. */
export interface EventDialect extends SqlDialect {
  /**
   * Whether ids are always looked up before events are inserted. A database with keys needs this lookup, because keys refuse existing ids.
   */
  readonly checksIdsFirst: boolean;
  /** Additional columns of `events` in this database. */
  readonly moreEventColumns: readonly RelationColumn[];
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
  readonly type: ColumnType;
}
