import type { Limiter } from '../../core/limiter/limiter.js';
import type { Slots, SlotsInUse } from '../../core/limiter/slots.js';
import type { JournalReport } from '../../core/purchase/activity.js';
import type { PurchaseHistory } from '../../core/purchase/attempts.js';
import type { ForgettingJournal } from '../../core/purchase/forgotten.js';
import type { Journal } from '../../core/purchase/journal.js';
import type { Spend } from '../../core/purchase/spend.js';
import type { JobEntries } from '../../core/rows/job-entries.js';
import type { Stages } from '../../core/rows/stages.js';
import type { OtherLimit } from '../../core/workflow-result-schemas.js';

/** The journal with the sums of the purchases in it. */
export interface PurchaseJournal extends Journal, Spend, PurchaseHistory {
  readonly report: JournalReport;
  readonly forgetting: ForgettingJournal;
  /** Bytes of the bodies that `prune` with the same arguments would remove. */
  prunableBytes(segmentPrefix: string, before: number): Promise<number>;
}

/** The parts of a store that a worker process holds while it runs. */
export interface WorkerStore {
  readonly journal: PurchaseJournal;
  readonly limiter: Limiter;
  readonly slots: Slots;
  close(): Promise<void>;
}

/** The durable state: in a folder, for one worker process, or in PostgreSQL, for many. */
export interface Store {
  /** Whether workers on several machines may run at once. */
  readonly shared: boolean;
  readonly entries: JobEntries;
  readonly stages: Stages;
  /** The journal, for lookups and caps; claims nothing. */
  journal(): Promise<PurchaseJournal>;
  /** Opens the parts for a worker; null if another process of this folder runs a worker. */
  work(): Promise<WorkerStore | null>;
  /** PID of the process that runs the folder's worker, if known. */
  holder(): number | null;
  /** The team's limit, which this process shares with all others. It is closed with the store. */
  limiter(): Limiter;
  slots(): Promise<SlotsInUse>;
  /** Workers on the same task queue and service that have another key and team, and so another limit. */
  otherLimits(): Promise<readonly OtherLimit[]>;
  /** Whether another living worker on the same task queue runs for this service on this machine. */
  servedElsewhere(meant: { readonly origin: string; readonly host: string }): Promise<boolean>;
  close(): Promise<void>;
}
