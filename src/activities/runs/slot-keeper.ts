import { fieldOf } from '../../api/checks/field-of.js';
import { listAgentRunsEndpoint } from '../../api/endpoints/agent-runs.js';
import { listResearchTasksEndpoint } from '../../api/endpoints/research.js';
import { readPage } from '../../core/events/page.js';
import { type Slots, type SlotsInUse, slotsInUse } from '../../core/limiter/slots.js';
import type { Journal } from '../../core/purchase/journal.js';
import { callInTurn, type SendDeps } from '../call/call-in-turn.js';
import { isApiError } from '../call/failure.js';
import type { RunSlots } from '../purchase/purchase-request.js';
import { agentRunKind, POLL_TIMEOUT_MS, RunFollower, type RunKind, researchKind } from './run-follower.js';
import { noSlots, RecentRuns, type WorkerRuns } from './runs.js';

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

const PAGE = 100;
/**
 * How far back in time the first read of the list goes, in ms; older runs are assumed to have ended. Later reads go back only to the
 * previous read.
 */
const LONGEST_RUN_MS = 3 * 3_600_000;
const FIRST_PAGES = 20;
const MAX_PAGES = 3;
/** Time in ms by which a read goes back further than to the previous read, because clocks differ. */
const OVERLAP_MS = 60_000;
/** Interval of the polls, in ms, for a run that was not in the pages that were read. Such a run is polled alone. */
const POLL_MS = 10_000;
const SENT = { totalMs: POLL_TIMEOUT_MS };
/** The most runs that are polled alone. A team cannot have more runs in progress. */
const MAX_KNOWN = 200;

/** The state of the service's runs. */
interface SeenRuns {
  /** Start of the read, in Unix ms. */
  readonly asOf: number;
  readonly inProgress: readonly string[];
  readonly ended: ReadonlySet<string>;
}

/** The runs in progress at the service, whichever client started them. */
export class RunsInProgress<R> {
  readonly #deps: SendDeps;
  readonly #kind: RunKind<R>;
  /** Runs without a slot in this store, and when each was last seen in progress. */
  readonly #known = new Map<string, number>();
  #readAt: number | null = null;

  constructor(deps: SendDeps, kind: RunKind<R>) {
    this.#deps = deps;
    this.#kind = kind;
  }

  /**
   * Returns the state of the runs; null if the service has no list or the read failed. `ours`: runs with a slot; the attempts that follow
   * these runs poll them.
   */
  async read(ours: ReadonlySet<string | null>): Promise<SeenRuns | null> {
    const asOf = Date.now();
    try {
      const listed = await this.#list(asOf);
      if (listed === null) return null;
      const { inProgress, ended } = listed;
      for (const id of inProgress) if (!ours.has(id)) this.#known.set(id, asOf);
      for (const [id, seenAt] of [...this.#known]) {
        if (ended.has(id) || ours.has(id)) this.#known.delete(id);
        else if (asOf - seenAt < POLL_MS) inProgress.add(id);
        else if (await this.over(id)) this.#known.delete(id);
        else {
          this.#known.set(id, asOf);
          inProgress.add(id);
        }
      }
      for (const id of [...this.#known.keys()].slice(MAX_KNOWN)) this.#known.delete(id);
      this.#readAt = asOf;
      return { asOf, inProgress: [...inProgress], ended };
    } catch (error) {
      if (isApiError(error)) return null;
      throw error;
    }
  }

  /** Whether a run has ended or is gone. */
  async over(id: string): Promise<boolean> {
    try {
      return this.#kind.ended((await callInTurn(this.#deps, this.#kind.one, { id }, SENT)).data);
    } catch (error) {
      if (!isApiError(error)) throw error;
      return error.verdict.type === 'NotFound';
    }
  }

  /** Reads the list, newest first, back to the time of the last read. */
  async #list(asOf: number): Promise<{ readonly inProgress: Set<string>; readonly ended: Set<string> } | null> {
    const { list, createdAt, idOf } = this.#kind;
    if (!list) return null;
    const [pages, since] =
      this.#readAt === null ? [FIRST_PAGES, asOf - LONGEST_RUN_MS] : [MAX_PAGES, this.#readAt - OVERLAP_MS];
    const inProgress = new Set<string>();
    const ended = new Set<string>();
    let cursor: string | undefined;
    for (let page = 0; page < pages; page++) {
      const input = { limit: PAGE, cursor };
      const reported = readPage((await callInTurn(this.#deps, list, input, SENT)).data);
      const going = inProgress.size;
      let oldest = Number.POSITIVE_INFINITY;
      for (const run of reported?.items ?? []) {
        const id = idOf(run);
        if (id === null) continue;
        if (this.#kind.ended(run)) ended.add(id);
        else inProgress.add(id);
        oldest = Math.min(oldest, createdAt(run) ?? Number.POSITIVE_INFINITY);
      }
      // If the list has no times, reading ends at a page without runs in progress, because later pages hardly have any such runs.
      const enough = Number.isFinite(oldest) ? oldest < since : inProgress.size === going;
      if (!reported?.cursor || reported.items.length === 0 || enough) break;
      cursor = reported.cursor;
    }
    return { inProgress, ended };
  }
}

export interface RunsDeps extends SendDeps {
  readonly journal: Journal;
  /** The team's slots for agent runs. */
  readonly slots: Slots;
}

export function createRuns(deps: RunsDeps): WorkerRuns {
  // The service has no slots for research tasks. The owners of tasks are kept, so that no two purchases take the same task.
  const owners = new Map<string, string>();
  return {
    agent: {
      follower: new RunFollower(deps, agentRunKind),
      recent: new RecentRuns(deps, agentRunKind, listAgentRunsEndpoint),
      slots: new SlotKeeper(deps, agentRunKind),
      claimed: async (id, key) => (await deps.slots.owners()).some(({ owner, runId }) => runId === id && owner !== key),
    },
    research: {
      follower: new RunFollower(deps, researchKind),
      recent: new RecentRuns(deps, researchKind, listResearchTasksEndpoint),
      slots: {
        ...noSlots,
        name: async (owner, runId) => void owners.set(owner, runId),
        free: async (owner) => void owners.delete(owner),
      },
      claimed: async (id, key) => [...owners].some(([owner, runId]) => runId === id && owner !== key),
    },
  };
}
