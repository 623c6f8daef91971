import { fieldOf } from '../../api/checks/field-of.js';
import { type Slots, type SlotsInUse, slotsInUse } from '../../core/limiter/slots.js';
import type { Journal } from '../../core/purchase/journal.js';
import type { SendDeps } from '../call/call-in-turn.js';
import type { RunSlots } from '../purchase/purchase-request.js';
import type { RunKind } from './run-follower.js';
import { RunsInProgress, type SeenRuns } from './runs-in-progress.js';

/**
 * `READ_MS`: interval in ms at which the list is read while a start waits. `STALE_MS`: age in ms above which a start reads the list again.
 */
const READ_MS = 3000;
const STALE_MS = 15_000;
/** Interval in ms between checks of the slots that no attempt of this process holds. */
const RECONCILE_MS = 30_000;
const MIN_AGE_MS = 30_000;

/** Ignores the error of an unavailable store, because the slots then reject every wait with the same error. */
const ignore = (): void => undefined;

/**
 * Assigns slots for runs, and keeps the slots up to date with the service. Runs that other clients started take slots, too. The slot of a
 * dead owner is freed once the owner's run has ended.
 */
export class SlotKeeper<R> implements RunSlots {
  readonly #runs: RunsInProgress<R>;
  readonly #slots: Slots;
  readonly #journal: Journal;
  listedSince: number | null = null;
  inUse: SlotsInUse | null = null;
  #waiting = 0;
  #watching = false;
  #reading: Promise<SeenRuns | null> | null = null;
  #readAt = Number.NEGATIVE_INFINITY;
  #reconciledAt = Number.NEGATIVE_INFINITY;

  constructor(deps: SendDeps & { readonly journal: Journal; readonly slots: Slots }, kind: RunKind<R>) {
    this.#runs = new RunsInProgress(deps, kind);
    this.#slots = deps.slots;
    this.#journal = deps.journal;
  }

  async take(owner: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    // The first start of this process waits for the list of runs in progress. Later starts do not wait for reads of the list.
    const first = this.#readAt === Number.NEGATIVE_INFINITY;
    if (performance.now() - this.#readAt > STALE_MS) {
      const read = this.#read();
      if (first) {
        this.listedSince ??= Date.now();
        await read.finally(() => {
          this.listedSince = null;
        });
      } else read.catch(ignore);
    }
    this.#waiting++;
    try {
      const taken = this.#slots.take(owner, signal);
      this.#watch().catch(ignore);
      await taken;
    } finally {
      this.#waiting--;
    }
  }

  name(owner: string, runId: string): Promise<void> {
    return this.#slots.name(owner, runId);
  }

  free(owner: string): Promise<void> {
    return this.#slots.free(owner);
  }

  async refused(): Promise<void> {
    await this.#read();
  }

  /** Reads the list again and again while a start waits, because a run that another client started may have ended. */
  async #watch(): Promise<void> {
    if (this.#watching) return;
    this.#watching = true;
    try {
      while (await this.#stillWaiting()) await this.#read();
    } finally {
      this.#watching = false;
    }
  }

  async #stillWaiting(): Promise<boolean> {
    const until = this.#readAt + READ_MS;
    while (this.#waiting > 0 && performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, Math.min(250, until - performance.now())).unref());
    }
    return this.#waiting > 0;
  }

  #read(): Promise<SeenRuns | null> {
    this.#reading ??= this.#readAndCount().finally(() => {
      this.#reading = null;
      this.#readAt = performance.now();
    });
    return this.#reading;
  }

  async #readAndCount(): Promise<SeenRuns | null> {
    const seen = await this.#readNow();
    this.inUse = await slotsInUse(this.#slots, this.#journal);
    return seen;
  }

  /** Reads the list and updates the slots. Returns null if the list cannot be read; then no slot changes. */
  async #readNow(): Promise<SeenRuns | null> {
    const seen = await this.#runs.read(new Set((await this.#slots.owners()).map(({ runId }) => runId)));
    if (seen === null) return null;
    await this.#slots.note(seen.inProgress, seen.asOf);
    if (seen.asOf - this.#reconciledAt >= RECONCILE_MS) {
      this.#reconciledAt = seen.asOf;
      await this.#reconcile(seen);
    }
    return seen;
  }

  /** Frees the slot of each unit that no attempt is buying, if the unit's run has ended or was never started. */
  async #reconcile({ asOf, ended, inProgress }: SeenRuns): Promise<void> {
    for (const { owner, runId, takenAt } of await this.#slots.owners()) {
      if (takenAt > asOf - MIN_AGE_MS) continue;
      if (runId !== null && (inProgress.includes(runId) || !(ended.has(runId) || (await this.#runs.over(runId)))))
        continue;
      const me = `slots of ${owner}`;
      try {
        const { landed, mine } = await this.#journal.claim([owner], me);
        const [claimed] = mine;
        // Another attempt is buying the unit and holds the slot.
        if (landed.length === 0 && !claimed) continue;
        const known = fieldOf(claimed?.started?.facts, 'run');
        if (runId === null && typeof known === 'string') await this.#slots.name(owner, known);
        // A start without an answer keeps its slot until the answer is overdue.
        else if (runId !== null || (claimed?.lost?.deadline ?? 0) < asOf) await this.#slots.free(owner);
      } finally {
        await this.#journal.release(me);
      }
    }
  }
}
