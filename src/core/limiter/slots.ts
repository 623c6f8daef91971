/** What the slots show of themselves. */
export interface SlotsView {
  readonly limit: number;
  /** Held by our own owners. */
  readonly held: number;
  /** Runs in progress at the service that nobody here holds. */
  readonly elsewhere: number;
  readonly waiting: number;
}

/**
 * Places for what runs on at the service after its start: the team's agent runs in progress (interface section 8: 50). A place
 * is taken before the start is sent and is its owner's until the service shows the run ended or absent: no time and no death of
 * a process frees it.
 */
export interface Slots {
  /**
   * Waits for a place, first come first served. `owner` is the key of the purchase; one that holds a place already has it.
   * Rejects with the signal's reason when aborted.
   */
  take(owner: string, signal?: AbortSignal): Promise<void>;
  /**
   * Says which run the owner's place is for. A run that goes on has a place: an owner without one gets it at once, free or not.
   */
  name(owner: string, runId: string): Promise<void>;
  /** Gives the place back: the run ended, or never began. Nothing where the owner holds none. */
  free(owner: string): Promise<void>;
  /** The owners of places, with the run where it is known and when it was taken (Unix ms), oldest first. */
  owners(): Promise<readonly { readonly owner: string; readonly runId: string | null; readonly takenAt: number }[]>;
  /**
   * Takes note of what the service shows in progress (ids of runs, from a list read that began at `asOf`, Unix ms): runs that
   * no owner here has named count as taken elsewhere until the next note. Never frees a place of ours.
   */
  note(inProgress: readonly string[], asOf: number): Promise<void>;
  view(): Promise<SlotsView>;
  close(): Promise<void>;
}
