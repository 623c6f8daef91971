import { setTimeout as delay } from 'node:timers/promises';
import { getAgentRunEndpoint, listAgentRunsEndpoint } from '../../api/endpoints/agent-runs.js';
import { getResearchTaskEndpoint, type ResearchTask } from '../../api/endpoints/research.js';
import { type AgentRun, isTerminal } from '../../api/schemas/agent-run-schemas.js';
import type { PageRequest } from '../../api/schemas/page.js';
import type { ById, Endpoint } from '../../api/wire/endpoint.js';
import { ApiError, isUnusable } from '../../api/wire/errors.js';
import { type PageEnvelope, readPage } from '../../core/events/page.js';
import { type Waiter, WaitQueue } from '../../core/processes/wait-queue.js';
import { backoffMs } from '../../core/purchase/backoff.js';
import type { ServiceWarning } from '../../core/row-job-schemas.js';
import { ODD_POLLS } from '../../core/rows/stop-at-failed.js';
import { callInTurn, type SendDeps } from '../call/call-in-turn.js';
import { isApiError } from '../call/failure.js';
import { type Landing, landingOf } from '../call/landing.js';

/** A kind of run at the service, and how its runs are polled. */
export interface RunKind<R> {
  readonly one: Endpoint<ById, R>;
  /** The operation that lists runs, newest first. One read of the list polls many runs at once. Null: each run is polled alone. */
  readonly list: Endpoint<PageRequest, PageEnvelope<R>> | null;
  idOf(run: R): string | null;
  ended(run: R): boolean;
  /** When the run was created, in Unix ms by the service's clock; null if the record has no time. */
  createdAt(run: R): number | null;
}

/** The end of a followed run: its last record, or `null` if the service no longer returns the run. */
export interface FollowedRun<R> {
  readonly run: R | null;
  readonly requestId: string | null;
  /** The record byte for byte; absent without a record. */
  readonly kept?: Landing;
  readonly warnings?: readonly ServiceWarning[];
}

interface Poll<R> {
  readonly id: string;
  readonly startedAt: number;
  readonly onPoll: ((run: R) => void) | undefined;
  /** Time of the next poll; infinite during a poll. */
  due: number;
  failures: number;
  missing: number;
  odd: number;
}

type Followed<R> = Waiter<Poll<R>, FollowedRun<R>>;

/** The interval between polls, as a part of the run's age. */
const GAP_OF_AGE = 0.05;
const MIN_GAP_MS = 500;
const MAX_GAP_MS = 15_000;
/** The timeout of a poll, in ms. A short timeout is enough, because polls are free and are repeated. */
export const POLL_TIMEOUT_MS = 15_000;
/** If at least this many polls are due, the list is read instead of the single runs. */
const LIST_FROM = 4;
const PAGE = 100;
const MAX_PAGES = 3;
/** Time in ms within which due polls are made together. */
const TOGETHER_MS = 200;
/**
 * A run counts as gone after this many consecutive polls that do not find it. Fewer polls prove nothing, because a run may not be visible
 * right after its start.
 */
const MAX_MISSING = 3;
/** A run is given up after this many consecutive timeouts that the service reports. */
const MAX_TIMEOUTS = 8;

/**
 * Follows many runs at the service at once, until they end; one page of the list has a hundred runs. Polls do not count against the rate,
 * but wait while the service asks for a pause. Failed polls are repeated. After a failure that no retry helps, `follow` rejects.
 */
export class RunFollower<R> {
  readonly #deps: SendDeps;
  readonly #kind: RunKind<R>;
  readonly #runs = new WaitQueue<Poll<R>, FollowedRun<R>>();
  #wake = new AbortController();
  #polling = false;

  constructor(deps: SendDeps, kind: RunKind<R>) {
    this.#deps = deps;
    this.#kind = kind;
  }

  /**
   * Resolves when the run has ended or is gone. `startedAt` (Unix ms) decides the interval of the polls. When aborted, rejects with the
   * signal's reason, and the run stays in progress. Rejects with `ApiError` if polls are refused. A run must not be followed twice at the
   * same time.
   */
  follow(
    id: string,
    options: {
      readonly startedAt: number;
      readonly signal: AbortSignal;
      /** Called with each polled record while the run is in progress. */
      readonly onPoll?: (run: R) => void;
    },
  ): Promise<FollowedRun<R>> {
    const { startedAt, signal, onPoll } = options;
    const due = performance.now() + gap(Date.now() - startedAt);
    const end = this.#runs.wait({ id, startedAt, onPoll, due, failures: 0, missing: 0, odd: 0 }, { signal });
    this.#wake.abort();
    void this.#pollAll();
    return end;
  }

  async #pollAll(): Promise<void> {
    if (this.#polling) return;
    this.#polling = true;
    try {
      while (this.#runs.size > 0) {
        const now = performance.now();
        const next = Math.min(...[...this.#runs].map(({ item }) => item.due));
        // Polls that are due a little later are made together with the polls that are due now.
        const at = next + (this.#runs.size >= LIST_FROM ? TOGETHER_MS : 0);
        if (at > now) {
          this.#wake = new AbortController();
          await delay(Math.min(at - now, MAX_GAP_MS), undefined, { signal: this.#wake.signal }).catch(() => undefined);
          continue;
        }
        const due = [...this.#runs].filter(({ item }) => item.due <= now);
        for (const { item } of due) item.due = Number.POSITIVE_INFINITY;
        // These polls are not awaited, so that a slow poll does not delay the polls of other runs.
        void this.#pollDue(due);
      }
    } finally {
      this.#polling = false;
    }
  }

  async #pollDue(due: readonly Followed<R>[]): Promise<void> {
    const rest = due.length >= LIST_FROM && this.#kind.list ? await this.#pollList(due) : due;
    // Runs in the list have new poll times now. The loop must use these times without waiting for the other runs.
    this.#wake.abort();
    await Promise.all(rest.map((followed) => this.#poll(followed).finally(() => this.#wake.abort())));
  }

  /** Polls runs by the list. Returns the runs that need a poll of their own. */
  async #pollList(due: readonly Followed<R>[]): Promise<Followed<R>[]> {
    const list = this.#kind.list as NonNullable<RunKind<R>['list']>;
    const left = new Set(due);
    const ended: Followed<R>[] = [];
    let cursor: string | undefined;
    try {
      for (let page = 0; page < MAX_PAGES && left.size > 0; page++) {
        const { data } = await this.#send(list, { limit: PAGE, cursor });
        const reported = readPage(data);
        const followedRuns = new Map([...this.#runs].map((followed) => [followed.item.id, followed]));
        for (const run of reported?.items ?? []) {
          const followed = followedRuns.get(this.#kind.idOf(run) ?? '');
          if (!followed) continue;
          left.delete(followed);
          // The record of an ended run is read separately, because a list may omit parts of a record.
          if (this.#kind.ended(run)) ended.push(followed);
          else this.#inProgress(followed.item, run);
        }
        if (!reported?.cursor || reported.items.length === 0) break;
        cursor = reported.cursor;
      }
    } catch (error) {
      // If the list cannot be read, each run is polled alone. After a local failure, none of these runs is followed any longer.
      if (!isApiError(error)) {
        for (const followed of due) followed.reject(error);
        return [];
      }
    }
    return [...ended, ...left];
  }

  async #poll(followed: Followed<R>): Promise<void> {
    const { item } = followed;
    if (![...this.#runs].includes(followed)) return;
    try {
      const answer = await this.#send(this.#kind.one, { id: item.id });
      const { data, requestId } = answer;
      const { idOf, one, ended } = this.#kind;
      if ((idOf(data) ?? item.id) !== item.id) {
        const facts = { phase: 'answer', status: 200, tag: null, retryAfterMs: null, wrongShape: true } as const;
        throw new ApiError({ endpoint: one, facts, requestId, reason: 'the answer is another run' });
      }
      if (ended(data)) followed.resolve({ run: data, requestId, kept: landingOf(answer), warnings: answer.warnings });
      else this.#inProgress(item, data);
    } catch (error) {
      this.#failed(followed, error);
    }
  }

  #inProgress(poll: Poll<R>, run: R): void {
    poll.failures = 0;
    poll.missing = 0;
    poll.odd = 0;
    poll.due = performance.now() + gap(Date.now() - poll.startedAt);
    poll.onPoll?.(run);
  }

  #failed(followed: Followed<R>, error: unknown): void {
    const { item } = followed;
    if (!isApiError(error)) {
      followed.reject(error);
      return;
    }
    const { type, retry } = error.verdict;
    // The service may still return a run for a while after reporting its timeout.
    if (error.facts.tag === 'TIMEOUT' && item.failures >= MAX_TIMEOUTS) {
      followed.resolve({ run: null, requestId: error.requestId });
      return;
    }
    if (type === 'NotFound' && ++item.missing >= MAX_MISSING) {
      followed.resolve({ run: null, requestId: error.requestId });
      return;
    }
    const passes = isUnusable(error) ? ++item.odd < ODD_POLLS : retry || type === 'NotFound';
    if (!passes) {
      followed.reject(error);
      return;
    }
    const wait = backoffMs(item.failures++, 1000, 30_000, Math.random());
    item.due = performance.now() + Math.max(error.facts.retryAfterMs ?? 0, wait);
  }

  #send<I, O>(endpoint: Endpoint<I, O>, input: I) {
    return callInTurn(this.#deps, endpoint, input, { totalMs: POLL_TIMEOUT_MS });
  }
}

function gap(age: number): number {
  return Math.min(MAX_GAP_MS, Math.max(MIN_GAP_MS, age * GAP_OF_AGE));
}

/** Agent runs. A run with any status except `queued` and `running` has ended. */
export const agentRunKind: RunKind<AgentRun> = {
  one: getAgentRunEndpoint,
  list: listAgentRunsEndpoint,
  idOf: ({ id }) => id,
  ended: ({ status }) => isTerminal(status),
  createdAt: ({ createdAt }) => timeOf(createdAt),
};

const researchInProgress = new Set(['pending', 'in_progress', 'queued', 'running']);

export const researchKind: RunKind<ResearchTask> = {
  one: getResearchTaskEndpoint,
  // The list is not used for polls of tasks, because a read of the list counts against the rate.
  list: null,
  idOf: ({ id }) => id ?? null,
  // A task without a status has ended if it has a result or an end time.
  ended: ({ status, data, finishedAt }) => (status ? !researchInProgress.has(status) : Boolean(data ?? finishedAt)),
  createdAt: ({ createdAt }) => timeOf(createdAt),
};

function timeOf(time: string | number | null | undefined): number | null {
  const at = typeof time === 'number' ? time : Date.parse(time ?? '');
  return Number.isFinite(at) ? at : null;
}
