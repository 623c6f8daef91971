import { fieldOf } from '../../api/checks/field-of.js';
import type { Slots } from '../../core/limiter/slots.js';
import type { Journal } from '../../core/purchase/journal.js';
import type { SendDeps } from '../call/call-in-turn.js';
import type { RunSlots } from '../purchase/purchase-request.js';
import type { RunKind } from './run-follower.js';
import { RunsInProgress, type SeenRuns } from './runs-in-progress.js';

/** Interval of reading the list while a start waits, in ms. A start also reads a list that is older than this. */
const READ_MS = 3000;
const STALE_MS = 15_000;
/** Interval of checking slots that no attempt here holds, in ms. */
const RECONCILE_MS = 30_000;
const MIN_AGE_MS = 30_000;

/** An unavailable store is reported by the slots themselves, which reject every wait. */
const ignore = (): void => undefined;

/**
 * Assigns slots for runs, and keeps them in line with the service: runs that were started elsewhere count, and the slot of a dead
 * owner is freed once its run has ended.
 */
export class SlotKeeper<R> implements RunSlots {
  readonly #runs: RunsInProgress<R>;
  readonly #slots: Slots;
  readonly #journal: Journal;
  listedSince: number | null = null;
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
    // The first start of this process waits for the list of runs in progress; later ones read it in the background.
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

  /** Reads the list while a start waits: a run that was started elsewhere may have ended. */
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
    this.#reading ??= this.#readNow().finally(() => {
      this.#reading = null;
      this.#readAt = performance.now();
    });
    return this.#reading;
  }

  /** Null where the service has no list: then nothing is known or changed. */
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

  /** Frees the slots of units that no attempt buys and whose run has ended, or was never started. */
  async #reconcile({ asOf, ended, inProgress }: SeenRuns): Promise<void> {
    for (const { owner, runId, takenAt } of await this.#slots.owners()) {
      if (takenAt > asOf - MIN_AGE_MS) continue;
      if (runId !== null && (inProgress.includes(runId) || !(ended.has(runId) || (await this.#runs.over(runId)))))
        continue;
      const me = `slots of ${owner}`;
      try {
        const { landed, mine } = await this.#journal.claim([owner], me);
        const [claimed] = mine;
        // A live attempt holds the slot.
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
