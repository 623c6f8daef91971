import type { WindowPages } from '../../core/events/event-warehouse.js';
import type { EventDialect, EventTransaction, StagedPages } from './event-sql.js';

/**
 * What a transaction does: it changes nothing; marks and events; the state made of them, beside that or when it is all that is left to
 * do; or all of that.
 */
export type Purpose = 'read' | 'write' | 'fold' | 'foldAll' | 'all';

/** What a database brings along for `createEventStore`. */
export interface EventDatabase<Tx extends EventTransaction> {
  readonly dialect: EventDialect;
  exists(): Promise<boolean>;
  /** Work in one transaction; of those that change the same things one at a time, see `Purpose`. */
  transaction<T>(purpose: Purpose, work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Brings pages before the database, within a transaction. */
  stage(tx: Tx, batch: readonly WindowPages[]): Promise<StagedPages>;
  close(): Promise<void>;
}
