import type { ResearchTask } from '../../api/endpoints/research.js';
import type { AgentRun } from '../../api/schemas/agent-run-schemas.js';
import type { PageRequest } from '../../api/schemas/page.js';
import type { SendOptions } from '../../api/transport.js';
import type { Endpoint } from '../../api/wire/endpoint.js';
import { type PageEnvelope, readPage } from '../../core/events/page.js';
import { Serial } from '../../core/processes/serial.js';
import { unlessAborted } from '../../core/processes/wait-queue.js';
import { callWithRetries, type SendDeps } from '../call/call-in-turn.js';
import { isApiError } from '../call/failure.js';
import type { RunSlots } from '../purchase/purchase-request.js';
import { POLL_TIMEOUT_MS, type RunFollower, type RunKind } from './run-follower.js';

/** The state that all purchases of one kind of run share in a worker process. */
export interface Runs<R> {
  readonly follower: RunFollower<R>;
  readonly recent: RecentRuns<R>;
  readonly slots: RunSlots;
  /** Whether another purchase owns this run. */
  claimed(id: string, key: string): Promise<boolean>;
}

export interface WorkerRuns {
  readonly agent: Runs<AgentRun>;
  readonly research: Runs<ResearchTask>;
}

const nothing = async () => undefined;
export const noSlots: RunSlots = { take: nothing, name: nothing, free: nothing, refused: nothing };

const PAGE = 100;
const MAX_PAGES = 20;
/** Number of attempts at reading a page of the list. After these attempts the search fails; the caller may search again. */
const TRIES = 5;

/** The listed runs: at most 2,000, newest first. `whole`: whether the list has all runs since the requested time. */
interface Recent<R> {
  readonly runs: readonly R[];
  readonly whole: boolean;
  /** The service's clock minus this process's clock, in ms, exact to about a second. 0 if the service does not send its time. */
  readonly clockAheadMs: number;
}

/**
 * The service's list of its latest runs. If a start gets no answer, its run is searched for in this list. Concurrent callers share one
 * read: after a crash, fifty searches read the list once.
 */
export class RecentRuns<R> {
  readonly #reads = new Serial();
  #next: { since: number; readonly read: Promise<Recent<R>> } | null = null;

  constructor(
    private readonly deps: SendDeps,
    private readonly kind: RunKind<R>,
    private readonly list: Endpoint<PageRequest, PageEnvelope<R>>,
  ) {}

  /** Returns the runs since a time (Unix ms), and perhaps earlier runs. The list is read after this call. */
  async since(since: number, signal: AbortSignal): Promise<Recent<R>> {
    signal.throwIfAborted();
    if (this.#next) this.#next.since = Math.min(this.#next.since, since);
    else {
      this.#next = { since, read: this.#reads.run(() => this.#read()) };
    }
    return unlessAborted(this.#next.read, signal);
  }

  /** Returns one run; null if the service does not return the run, whatever the reason. */
  async one(id: string, signal: AbortSignal): Promise<R | null> {
    try {
      return (await callWithRetries(this.deps, this.kind.one, { id }, { signal, tries: TRIES })).data;
    } catch (error) {
      if (isApiError(error)) return null;
      throw error;
    }
  }

  async #read(): Promise<Recent<R>> {
    const since = this.#next?.since ?? 0;
    this.#next = null;
    const runs: R[] = [];
    const options = { totalMs: POLL_TIMEOUT_MS, tries: TRIES };
    let [clockAheadMs, whole] = [0, true];
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page++) {
      const input = { limit: PAGE, cursor };
      const reported = await this.#page(input, options);
      if (reported === null) return { runs, whole: false, clockAheadMs };
      clockAheadMs = reported.clockAheadMs;
      whole &&= reported.isWhole;
      runs.push(...reported.items);
      const times = reported.items.map((run) => this.kind.createdAt(run)).filter((at) => at !== null);
      const older = times.length > 0 && Math.min(...times) < since + clockAheadMs;
      if (!reported.cursor || reported.items.length === 0 || older) return { runs, whole, clockAheadMs };
      cursor = reported.cursor;
    }
    return { runs, whole: false, clockAheadMs };
  }

  async #page(input: PageRequest, options: SendOptions & { readonly tries: number }) {
    try {
      const { data, date, misread } = await callWithRetries(this.deps, this.list, input, options);
      const page = readPage(data);
      // A run that cannot be read may be the one that is searched for.
      const isWhole = !misread.some(({ isLost }) => isLost);
      return page && { ...page, isWhole, clockAheadMs: date === null ? 0 : date - Date.now() };
    } catch (error) {
      // The service has no list.
      if (isApiError(error) && error.verdict.type === 'NotFound') return null;
      throw error;
    }
  }
}
