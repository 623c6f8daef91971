/** What a purchase has come to so far. */
export class Tally {
  /** Units that ended, by this purchase or before it. */
  landed = 0;
  requests = 0;
  bought = 0;
  failed = 0;
  costMicros = 0;
  unknownOutcomes = 0;
  /** Requests that were sent and have no answer on disk yet. */
  sending = 0;
  /** How often each unit's outcome is unknown. */
  readonly unknowns = new Map<string, number>();

  unknownsOf(key: string): number {
    return this.unknowns.get(key) ?? 0;
  }
}
