import type { WindowPages } from '../../core/events/event-warehouse.js';
import type { EventDialect, EventTransaction, StagedPages } from './event-sql.js';

/**
 * Purpose of a transaction. `read` changes nothing, `write` changes watermarks and events, `fold` updates the current state during loads
 * and `foldAll` after the last load; `all` does all of these.
 */
export type Purpose = 'read' | 'write' | 'fold' | 'foldAll' | 'all';

/** The parts of a database for `createEventStore`. */
export interface EventDatabase<Tx extends EventTransaction> {
  readonly dialect: EventDialect;
  exists(): Promise<boolean>;
  /** Runs work in one transaction. Transactions that change the same tables run one at a time, see `Purpose`. */
  transaction<T>(purpose: Purpose, work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Copies pages to where the statements of a transaction can read them. */
  stage(tx: Tx, batch: readonly WindowPages[]): Promise<StagedPages>;
  close(): Promise<void>;
}
