/** The present state of the slots. */
export interface SlotsView {
  readonly limit: number;
  /** Slots of owners in this store. */
  readonly held: number;
  /** Runs in progress at the service that no owner here holds. */
  readonly elsewhere: number;
  readonly waiting: number;
}

/**
 * Slots for runs at the service: the team's agent runs in progress (50). A slot is taken before the start is sent
 * and belongs to its owner until the service shows the run as ended or absent: no timeout and no death of a process frees it.
 */
export interface Slots {
  /**
   * Waits for a slot, first come first served. `owner` is the key of the purchase; an owner that already has a slot keeps it. Rejects
   * with the signal's reason when aborted.
   */
  take(owner: string, signal?: AbortSignal): Promise<void>;
  /**
   * Records the run of the owner's slot. A run in progress always has a slot: an owner without one gets it at once, even above the
   * limit.
   */
  name(owner: string, runId: string): Promise<void>;
  /** Frees the slot: the run has ended, or never began. Does nothing where the owner has none. */
  free(owner: string): Promise<void>;
  /** The owners of slots, with the run where it is known and the time of taking (Unix ms), oldest first. */
  owners(): Promise<readonly { readonly owner: string; readonly runId: string | null; readonly takenAt: number }[]>;
  /**
   * Records the ids of the runs that the service shows in progress. `asOf`: when the reading of its list began, in Unix ms. Runs that no
   * owner here has named count as taken elsewhere until the next call. Never frees a slot of an owner here.
   */
  note(inProgress: readonly string[], asOf: number): Promise<void>;
  view(): Promise<SlotsView>;
  close(): Promise<void>;
}
