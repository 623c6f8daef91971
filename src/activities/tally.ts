import { OverBudget } from '../core/spend.js';

/** What a purchase has come to so far. */
export class Tally {
  /** Units that ended, by this purchase or before it. */
  landed = 0;
  requests = 0;
  bought = 0;
  failed = 0;
  costMicros = 0;
  unknownOutcomes = 0;
  /** Estimates of what is in flight, and of what is unknown. */
  openMicros = 0;
  unknownMicros = 0;
  /** Units that run at the service and are followed. */
  running = 0;
  /** Units that wait for a place to run in. */
  queueing = 0;
  /** Requests that were sent and have no answer on disk yet. */
  sending = 0;
  /** How often each unit's outcome is unknown. */
  readonly unknowns = new Map<string, number>();

  /** What spending so much would pass; null where it may be spent. `mostMicros` bounds this purchase alone. */
  over(mostMicros: number | undefined, estimateMicros: number): OverBudget | null {
    if (mostMicros === undefined) return null;
    const left = Math.max(0, mostMicros - this.costMicros - this.openMicros - this.unknownMicros);
    return estimateMicros > left ? new OverBudget('call', mostMicros, left, this.openMicros, null) : null;
  }

  unknownsOf(key: string): number {
    return this.unknowns.get(key) ?? 0;
  }
}
