import { type Journal, RUN_OVERDUE } from '../purchase/journal.js';
import type { SlotsInUse, SlotsView } from './limiter-schemas.js';

export type { SlotsInUse, SlotsView } from './limiter-schemas.js';

/** The owner of a slot: the key of a purchase. */
export interface SlotOwner {
  readonly owner: string;
  /** The run of the slot; null if unknown. */
  readonly runId: string | null;
  /** Unix ms. */
  readonly takenAt: number;
}

/** Returns the slots in use. The journal shows which runs were left running. */
export async function slotsInUse(
  slots: Pick<Slots, 'view' | 'owners'>,
  journal: Pick<Journal, 'lookup'>,
): Promise<SlotsInUse> {
  const keys = (await slots.owners()).map(({ owner }) => owner);
  const [view, landed] = await Promise.all([slots.view(), journal.lookup(keys)]);
  return { ...view, leftRunning: landed.filter(({ errorTag }) => errorTag === RUN_OVERDUE).length };
}

/**
 * Slots for runs at the service: the team's agent runs in progress (50). A slot is taken before the start is sent
 * and belongs to its owner until the service shows the run as ended or absent: no timeout and no death of a process frees it.
 */
export interface Slots {
  /**
   * Waits for a slot, first come first served. `owner` is the key of the purchase. An owner that already has a slot keeps that slot.
   * Rejects with the signal's reason when aborted.
   */
  take(owner: string, signal?: AbortSignal): Promise<void>;
  /**
   * Records the run of the owner's slot. A run in progress always has a slot: an owner without a slot gets a slot at once, even above the
   * limit.
   */
  name(owner: string, runId: string): Promise<void>;
  /** Frees the slot of an owner whose run has ended or never began. Does nothing if the owner has no slot. */
  free(owner: string): Promise<void>;
  /** The owners of slots, oldest slot first. */
  owners(): Promise<readonly SlotOwner[]>;
  /**
   * Records the ids of the runs in progress at the service. `asOf`: when the list of runs began to be read, in Unix ms. Runs that no owner
   * of this store has named count as taken elsewhere until the next call. Never frees a slot of an owner of this store.
   */
  note(inProgress: readonly string[], asOf: number): Promise<void>;
  view(): Promise<SlotsView>;
  close(): Promise<void>;
}
