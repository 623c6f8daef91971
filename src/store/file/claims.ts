import { WaitQueue } from '../../core/processes/wait-queue.js';

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
