/** Runs by id, in the order of their creation, and those of them that are in progress. */
export class Runs<T extends { readonly id: string }> {
  readonly #runs = new Map<string, T>();
  readonly #open = new Set<string>();
  #maxOpen = 0;

  get size(): number {
    return this.#runs.size;
  }

  /** The highest number of runs in progress after a start. */
  get maxOpen(): number {
    return this.#maxOpen;
  }

  get(id: string): T | undefined {
    return this.#runs.get(id);
  }

  newestFirst(): T[] {
    return [...this.#runs.values()].reverse();
  }

  open(): T[] {
    return [...this.#open].map((id) => this.#runs.get(id) as T);
  }

  /** Adds a run, or replaces its earlier state; the run counts as in progress. */
  put(run: T): void {
    this.#runs.set(run.id, run);
    this.#open.delete(run.id);
    this.#open.add(run.id);
  }

  /** Counts a run that was put and starts now; returns it. */
  started(id: string): T {
    this.#maxOpen = Math.max(this.#maxOpen, this.#open.size);
    return this.#runs.get(id) as T;
  }

  /** Ends the runs in progress for which `isOver` holds, each after its charge. */
  settle(isOver: (run: T) => boolean, charge: (run: T) => void): void {
    for (const run of this.open().filter(isOver)) {
      this.close(run.id);
      charge(run);
    }
  }

  close(id: string): void {
    this.#open.delete(id);
  }

  delete(id: string): void {
    this.#open.delete(id);
    this.#runs.delete(id);
  }

  clear(): void {
    this.#open.clear();
    this.#runs.clear();
    this.#maxOpen = 0;
  }
}

export function countBy(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
