import type { SlotOwner, Slots, SlotsView } from '../../core/limiter/slots.js';
import { WaitQueue } from '../../core/processes/wait-queue.js';

interface Held {
  readonly runId: string | null;
  readonly takenAt: number;
}

/** The slots of one worker process. A process learns the slots of earlier processes from their journal. */
export class MemorySlots implements Slots {
  readonly #limit: number;
  readonly #held = new Map<string, Held>();
  /** Time at which the slot of a run was freed. A list that was read earlier may still contain the run. */
  readonly #freed = new Map<string, number>();
  #noted: { readonly runs: readonly string[]; readonly asOf: number } = { runs: [], asOf: Number.NEGATIVE_INFINITY };
  readonly #queue = new WaitQueue<string>();

  /** `limit`: number of slots; a team has 50. `held`: the slots that runs of earlier processes hold, oldest first. */
  constructor(limit = 50, held: readonly SlotOwner[] = []) {
    this.#limit = limit;
    for (const { owner, runId, takenAt } of held) this.#held.set(owner, { runId, takenAt });
  }

  take(owner: string, signal?: AbortSignal): Promise<void> {
    const taken = this.#queue.wait(owner, { signal });
    this.#serve();
    return taken;
  }

  async name(owner: string, runId: string): Promise<void> {
    this.#held.set(owner, { runId, takenAt: this.#held.get(owner)?.takenAt ?? Date.now() });
    this.#serve();
  }

  async free(owner: string): Promise<void> {
    const runId = this.#held.get(owner)?.runId ?? null;
    if (runId !== null) this.#freed.set(runId, Date.now());
    this.#held.delete(owner);
    this.#serve();
  }

  async owners() {
    return [...this.#held].map(([owner, { runId, takenAt }]) => ({ owner, runId, takenAt }));
  }

  async note(inProgress: readonly string[], asOf: number): Promise<void> {
    if (asOf <= this.#noted.asOf) return;
    this.#noted = { runs: [...new Set(inProgress)], asOf };
    for (const [runId, at] of this.#freed) if (at < asOf) this.#freed.delete(runId);
    this.#serve();
  }

  async view(): Promise<SlotsView> {
    const { size: waiting } = this.#queue;
    return { limit: this.#limit, held: this.#held.size, elsewhere: this.#elsewhere(), waiting };
  }

  async close(): Promise<void> {
    this.#queue.rejectAll(new Error('The slots were closed'));
  }

  #elsewhere(): number {
    const ours = new Set([...this.#held.values()].map(({ runId }) => runId));
    return this.#noted.runs.filter((runId) => !ours.has(runId) && !this.#freed.has(runId)).length;
  }

  /** Gives free slots to waiting owners in the order of asking. An owner that holds a slot keeps it. */
  #serve(): void {
    const taken = this.#elsewhere();
    for (const { item: owner, resolve } of this.#queue) {
      if (!this.#held.has(owner)) {
        if (this.#held.size + taken >= this.#limit) continue;
        this.#held.set(owner, { runId: null, takenAt: Date.now() });
      }
      resolve();
    }
  }
}
