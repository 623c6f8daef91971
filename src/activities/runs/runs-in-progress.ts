import { readPage } from '../../core/events/walk.js';
import { callInTurn, type SendDeps } from '../call/call-in-turn.js';
import { isApiError } from '../call/failure.js';
import { POLL_TIMEOUT_MS, type RunKind } from './run-follower.js';

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
export interface SeenRuns {
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
