import type { SendOptions } from '../../api/transport.js';
import { readPage } from '../../core/events/walk.js';
import { callInTurn, type SendDeps } from '../call/call-in-turn.js';
import { isApiError } from '../call/failure.js';
import { POLL_TIMEOUT_MS, type RunKind } from './run-follower.js';

const PAGE = 100;
/** At first the list is read as far as runs may still be going on; later only what has come since. */
const LONGEST_RUN_MS = 3 * 3_600_000;
const FIRST_PAGES = 20;
const MAX_PAGES = 3;
/** Clocks differ; what was made so long before the last reading is looked for again. */
const OVERLAP_MS = 60_000;
/** A run that newer ones have pushed off the pages is looked at by itself so often. */
const POLL_MS = 10_000;
/** … and so many at most: more than a team may have in progress there can't be. */
const MAX_KNOWN = 200;

/** What the service showed of its runs. */
export interface SeenRuns {
  /** Unix ms at which reading began. */
  readonly asOf: number;
  readonly inProgress: readonly string[];
  readonly ended: ReadonlySet<string>;
}

/** Which runs are in progress at the service (interface section 4.7), whoever started them, and however long ago. */
export class RunsInProgress<R> {
  readonly #deps: SendDeps;
  readonly #kind: RunKind<R>;
  readonly #options: SendOptions;
  /** Runs that nobody here holds, and when each was last seen in progress. */
  readonly #known = new Map<string, number>();
  #readAt: number | null = null;

  constructor(deps: SendDeps, kind: RunKind<R>) {
    this.#deps = deps;
    this.#kind = kind;
    this.#options = { ...kind.options, totalMs: POLL_TIMEOUT_MS };
  }

  /** Null where the service doesn't say. `ours`: runs that are looked at by those who hold their places. */
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

  /** Whether a run has ended, or is gone. */
  async over(id: string): Promise<boolean> {
    try {
      return this.#kind.ended((await callInTurn(this.#deps, this.#kind.one, { id }, this.#options)).data);
    } catch (error) {
      if (!isApiError(error)) throw error;
      return error.verdict.type === 'NotFound';
    }
  }

  /** The list, newest first, as far back as there may be something new. */
  async #list(asOf: number): Promise<{ readonly inProgress: Set<string>; readonly ended: Set<string> } | null> {
    const { list, createdAt, idOf } = this.#kind;
    if (!list) return null;
    const [pages, since] =
      this.#readAt === null ? [FIRST_PAGES, asOf - LONGEST_RUN_MS] : [MAX_PAGES, this.#readAt - OVERLAP_MS];
    const inProgress = new Set<string>();
    const ended = new Set<string>();
    let cursor: string | undefined;
    for (let page = 0; page < pages; page++) {
      const input = { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) };
      const reported = readPage((await callInTurn(this.#deps, list, input, this.#options)).data);
      const going = inProgress.size;
      let oldest = Number.POSITIVE_INFINITY;
      for (const run of reported?.items ?? []) {
        const id = idOf(run);
        if (id === null) continue;
        if (this.#kind.ended(run)) ended.add(id);
        else inProgress.add(id);
        oldest = Math.min(oldest, createdAt(run) ?? Number.POSITIVE_INFINITY);
      }
      // A list without times: behind a page of ended ones there are hardly any that go on.
      const enough = Number.isFinite(oldest) ? oldest < since : inProgress.size === going;
      if (!reported?.cursor || reported.items.length === 0 || enough) break;
      cursor = reported.cursor;
    }
    return { inProgress, ended };
  }
}
