import type { Limiter, LimiterView } from '../../core/limiter/limiter.js';
import type { Slots, SlotsView } from '../../core/limiter/slots.js';
import type { Journal } from '../../core/purchase/journal.js';
import type { Spend } from '../../core/purchase/spend.js';
import type { JobEntries } from '../../core/rows/job-entries.js';
import type { Stages } from '../../core/rows/stages.js';
import type { OtherLimit } from '../../core/text/presence.js';
import type { LimitReservation } from './limit-owner.js';

/** The truth about purchases, and its sums. */
export type PurchaseJournal = Journal & Spend;

/** What a worker process holds of a store while it works. */
export interface WorkerStore {
  readonly journal: PurchaseJournal;
  readonly limiter: Limiter;
  readonly slots: Slots;
  /** Where the limit is not shared by a store: the right to use it, taken while something is to be sent. */
  readonly reservation?: LimitReservation | null;
  close(): Promise<void>;
}

/** Where the truths that outlive a process are: in a folder, for one worker process, or in PostgreSQL, for many. */
export interface Store {
  /** Workers on several machines may work at once. */
  readonly shared: boolean;
  readonly entries: JobEntries;
  readonly stages: Stages;
  /** For looking things up and for caps; claims nothing. */
  journal(): Promise<PurchaseJournal>;
  /** What a worker holds; null where another process of this folder has the only place. */
  work(): Promise<WorkerStore | null>;
  /** The process that has the only place, where known. */
  holder(): number | null;
  /** The team's limit as it is now. */
  limits(): Promise<LimiterView>;
  slots(): Promise<SlotsView>;
  /** Workers on the same task queue and service that keep to a limit of their own, because they have another key and team. */
  otherLimits(): Promise<readonly OtherLimit[]>;
  close(): Promise<void>;
}
