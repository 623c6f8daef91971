import type { Attempt, LandedUnit } from './spend-schemas.js';

export type { Attempt, LandedUnit } from './spend-schemas.js';

/** The reasons that searchflow itself stores for a request without an answer. They have no words of the service. A stored value stays. */
export const ownReasons = {
  stopped: 'stopped before it was sent',
  heldBack: 'held back before it was sent',
  processEnded: 'the process ended before an answer landed',
  givenUp: 'given up before an answer landed',
  nothingStarted: 'the list of runs shows that nothing was started',
  removed: 'no answer; the reason was removed by forget',
} as const;

export const isUnsent = (reason: string | null): boolean =>
  reason === ownReasons.stopped || reason === ownReasons.heldBack;

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
