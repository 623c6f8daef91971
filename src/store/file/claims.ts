import { WaitQueue } from '../../core/processes/wait-queue.js';
import type { Claimed } from '../../core/purchase/journal.js';
import type { Segment } from './segment.js';

interface IntentRef {
  readonly segment: Segment;
  readonly id: string;
}

/** Units that were bought and have not landed: lost answers, and runs at the service. */
export class UnlandedUnits {
  readonly #lost = new Map<string, IntentRef & { readonly times: number }>();
  /** Intents of runs at the service, by unit key. Some may have ended in the meantime; the segment has the current state. */
  readonly #started = new Map<string, IntentRef>();

  lost(keys: readonly string[], segment: Segment, id: string): void {
    for (const key of keys) this.#lost.set(key, { segment, id, times: (this.#lost.get(key)?.times ?? 0) + 1 });
  }

  /** Records purchases that run at the service. `found`: the outcome of these purchases had been unknown. */
  noted(keys: readonly string[], found: boolean, segment: Segment, id: string): void {
    for (const key of keys) {
      this.#started.set(key, { segment, id });
      const lost = this.#lost.get(key);
      if (!found || !lost) continue;
      if (lost.times > 1) this.#lost.set(key, { ...lost, times: lost.times - 1 });
      else this.#lost.delete(key);
    }
  }

  /** Records that a unit has landed. If a run of the unit is still open at the service, the next claim takes that run over. */
  landed(key: string): void {
    this.#lost.delete(key);
    const running = this.#started.get(key);
    if (running && !running.segment.started(running.id)) this.#started.delete(key);
  }

  of(key: string): Claimed {
    const [ref, running] = [this.#lost.get(key), this.#started.get(key)];
    const lost = ref?.segment.lost(ref.id) ?? undefined;
    const started = running?.segment.started(running.id) ?? undefined;
    if (running && !started) this.#started.delete(key);
    return { key, unknowns: ref?.times ?? 0, lost, started };
  }
}

/** The claims of units in one process: each key has one owner at a time. */
export class Claims {
  readonly #owners = new Map<string, string>();
  readonly #keys = new Map<string, Set<string>>();
  /** Callers that wait until any of their keys has no owner. */
  readonly #waiting = new WaitQueue<readonly string[]>();

  ownerOf(key: string): string | undefined {
    return this.#owners.get(key);
  }

  take(key: string, owner: string): void {
    let keys = this.#keys.get(owner);
    if (!keys) {
      keys = new Set();
      this.#keys.set(owner, keys);
    }
    keys.add(key);
    this.#owners.set(key, owner);
  }

  of(owner: string): readonly string[] {
    return [...(this.#keys.get(owner) ?? [])];
  }

  /** Releases these keys of an owner, and wakes callers that wait for any of these keys. */
  release(owner: string, keys: readonly string[]): void {
    const owned = this.#keys.get(owner);
    for (const key of keys) {
      if (this.#owners.get(key) === owner) this.#owners.delete(key);
      owned?.delete(key);
    }
    if (owned?.size === 0) this.#keys.delete(owner);
    for (const { item, resolve } of this.#waiting) if (!this.#allOwned(item)) resolve();
  }

  /** Resolves when any of these keys has no owner; at once if `keys` is empty. */
  waitForAny(keys: readonly string[], signal?: AbortSignal): Promise<void> {
    if (!signal?.aborted && !this.#allOwned(keys)) return Promise.resolve();
    return this.#waiting.wait(keys, { signal });
  }

  #allOwned(keys: readonly string[]): boolean {
    return keys.length > 0 && keys.every((key) => this.#owners.has(key));
  }
}
