import type { Claimed } from '../../core/purchase/journal.js';
import type { Segment } from './segment.js';

interface Place {
  readonly segment: Segment;
  readonly id: string;
}

/** What is known of units that were bought and have not landed: answers that got lost, and what runs at the service. */
export class PendingOutcomes {
  readonly #lost = new Map<string, Place & { readonly times: number }>();
  /** May name intents that have ended since: the segment knows. */
  readonly #started = new Map<string, Place>();

  lost(keys: readonly string[], segment: Segment, id: string): void {
    for (const key of keys) this.#lost.set(key, { segment, id, times: (this.#lost.get(key)?.times ?? 0) + 1 });
  }

  /** `found`: it had been lost. */
  noted(keys: readonly string[], found: boolean, segment: Segment, id: string): void {
    for (const key of keys) {
      this.#started.set(key, { segment, id });
      const lost = this.#lost.get(key);
      if (!found || !lost) continue;
      if (lost.times > 1) this.#lost.set(key, { ...lost, times: lost.times - 1 });
      else this.#lost.delete(key);
    }
  }

  /** A run that is given up for a while is still one, whatever its row has come to: whoever wants the row takes it over. */
  landed(key: string): void {
    this.#lost.delete(key);
    const running = this.#started.get(key);
    if (running && !running.segment.started(running.id)) this.#started.delete(key);
  }

  of(key: string): Claimed {
    const [place, running] = [this.#lost.get(key), this.#started.get(key)];
    const lost = place?.segment.lost(place.id) ?? null;
    const started = running?.segment.started(running.id) ?? null;
    if (running && !started) this.#started.delete(key);
    return { key, unknowns: place?.times ?? 0, ...(lost && { lost }), ...(started && { started }) };
  }
}
