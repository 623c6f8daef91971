import type { UnitStatus } from './journal.js';

/**
 * How a request for a unit ended. `landed`: an answer landed; `free`: it failed and was certainly not charged; `unknown`: no answer came, it
 * may have been charged; `open`: in flight, or its run is in progress at the service; `unsent`: it was held back before it was sent.
 */
export type AttemptOutcome = 'landed' | 'free' | 'unknown' | 'open' | 'unsent';

/** Reasons of intents whose requests were never sent. */
export const unsentReasons = {
  stopped: 'stopped before it was sent',
  heldBack: 'held back before it was sent',
} as const;

export const isUnsent = (reason: string | null): boolean => Object.values<unknown>(unsentReasons).includes(reason);

/** A request for a unit, from the journal. Times in Unix ms, amounts in micro-dollars. */
export interface Attempt {
  /** Name of the segment, which begins with the job. */
  readonly segment: string;
  readonly operation: string;
  /** Time of the intent. */
  readonly at: number;
  /** Time of the answer, or of the record that none came; null while the request is open. */
  readonly endedAt: number | null;
  readonly outcome: AttemptOutcome;
  readonly requestId: string | null;
  /** Id of the run at the service, if the request is known to have started one. */
  readonly run: string | null;
  /** Why there is no answer. */
  readonly reason: string | null;
  /** The text that came instead of an answer; only if it was asked for. */
  readonly came?: string | null;
  readonly units: number;
  /** The unit's share of the cost; null: not known, because the answer was replaced by a newer one and is no longer stored. */
  readonly costMicros: number | null;
  /** What the whole request cost, or the most that it may cost while no answer has landed. */
  readonly requestMicros: number;
}

/** The answer of a unit that the journal has now. */
export interface LandedUnit {
  readonly segment: string;
  readonly fetchedAt: number;
  readonly status: UnitStatus;
  readonly errorTag: string | null;
  /** False: the unit ended without a request, such as after refusals, or its answer came from the warehouse. */
  readonly isBought: boolean;
  /** Size of its body; null if the body was pruned and its size with it. */
  readonly bytes: number | null;
  /** Whether the journal still has the body. */
  readonly hasBody: boolean;
}

/** What the journal knows about a unit. */
export interface UnitHistory {
  /** The requests for the unit, the oldest first. */
  readonly attempts: readonly Attempt[];
  readonly landed: LandedUnit | null;
}

/** The requests for units, from a journal. */
export interface PurchaseHistory {
  /**
   * Returns the history of each of these units, by key. The requests of `jobs` are searched, and the requests that the journal finds by the
   * unit's key: that of its answer, of its latest unknown outcome, and of its run in progress. `texts`: the attempts have the texts that came
   * instead of answers.
   */
  history(keys: readonly string[], jobs: readonly string[], texts?: boolean): Promise<ReadonlyMap<string, UnitHistory>>;
}

export const sentCount = ({ attempts }: UnitHistory): number =>
  attempts.filter(({ outcome }) => outcome !== 'unsent').length;

/** Sum of the known shares of a unit; `isWhole`: whether all shares are known. */
export function knownCost({ attempts }: UnitHistory): { readonly micros: number; readonly isWhole: boolean } {
  const landed = attempts.filter(({ outcome }) => outcome === 'landed');
  return {
    micros: landed.reduce((sum, { costMicros }) => sum + (costMicros ?? 0), 0),
    isWhole: landed.every(({ costMicros }) => costMicros !== null),
  };
}

/** What requests without an answer have probably cost for a unit: its equal shares of their likely prices. */
export const unknownMicros = ({ attempts }: UnitHistory): number =>
  attempts
    .filter(({ outcome }) => outcome === 'unknown')
    .reduce((sum, { requestMicros, units }) => sum + requestMicros / Math.max(1, units), 0);
