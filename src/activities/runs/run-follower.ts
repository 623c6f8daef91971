import { setTimeout as delay } from 'node:timers/promises';
import type { PageRequest } from '../../api/schemas/page.js';
import type { SendOptions } from '../../api/transport.js';
import type { ById, Endpoint } from '../../api/wire/endpoint.js';
import { type PageEnvelope, readPage } from '../../core/events/walk.js';
import { backoffMs } from '../../core/purchase/backoff.js';
import { callInTurn, type SendDeps } from '../call/call-in-turn.js';
import { isApiError } from '../call/failure.js';
import { type Landing, landingOf } from '../call/landing.js';

/** What runs on at the service after its start, and how it is looked at. */
export interface RunKind<R> {
  readonly one: Endpoint<ById, R>;
  /** A list of them, newest first, that tells of many at once. */
  readonly list: Endpoint<PageRequest, PageEnvelope<R>> | null;
  /** The form of the operations, where it is not the contract's. */
  readonly options?: SendOptions;
  idOf(run: R): string | null;
  ended(run: R): boolean;
  /** Unix ms by the service's clock; null where it doesn't say. */
  createdAt(run: R): number | null;
}

/** How following ended: the run's last record, or `null` where the service tells nothing more of the run. */
export interface FollowedRun<R> {
  readonly run: R | null;
  readonly requestId: string | null;
  /** The record as it came, where one did. */
  readonly kept?: Landing;
}

interface Followed<R> {
  readonly id: string;
  readonly startedAt: number;
  readonly onPoll: ((run: R) => void) | undefined;
  readonly resolve: (end: FollowedRun<R>) => void;
  readonly reject: (error: unknown) => void;
  /** Unix ms; infinite while it is being looked at. */
  due: number;
  failures: number;
  missing: number;
}

/** A look is due after this part of a run's age. */
const GAP_OF_AGE = 0.05;
const MIN_GAP_MS = 500;
const MAX_GAP_MS = 15_000;
/** A look costs nothing: one that is not answered so soon is made again. */
export const POLL_TIMEOUT_MS = 15_000;
/** So many looks at once, and a list is read instead. */
const LIST_FROM = 4;
const PAGE = 100;
const MAX_PAGES = 3;
/** Looks that are due so soon after each other are one. */
const TOGETHER_MS = 200;
/** A run that is not found right after its start may not be visible yet. */
const MAX_MISSING = 3;
/** So often in a row the service says that the run took too long, and it is given up. */
const MAX_TIMEOUTS = 8;
/** An answer that is no run at all may be a proxy's; so many in a row are the service's. */
const MAX_ODD = 5;

/**
 * Follows runs at the service until they end, many together: one page of the list tells of a hundred. Looks are free of the
 * rate, but wait where the service said so. A look that fails is repeated; only what no repetition mends rejects.
 */
export class RunFollower<R> {
  readonly #deps: SendDeps;
  readonly #kind: RunKind<R>;
  readonly #runs = new Map<string, Followed<R>>();
  #wake = new AbortController();
  #polling = false;

  constructor(deps: SendDeps, kind: RunKind<R>) {
    this.#deps = deps;
    this.#kind = kind;
  }

  /**
   * Resolves when the run has ended or is gone. `startedAt` (Unix ms) sets how often it is looked at. Rejects with the
   * signal's reason when aborted (the run goes on), and with `ApiError` where looking is refused. One call a run at a time.
   */
  follow(
    id: string,
    options: {
      readonly startedAt: number;
      readonly signal: AbortSignal;
      /** Told each record that was read. */
      readonly onPoll?: (run: R) => void;
    },
  ): Promise<FollowedRun<R>> {
    const { startedAt, signal, onPoll } = options;
    signal.throwIfAborted();
    return new Promise<FollowedRun<R>>((resolve, reject) => {
      const end = () => {
        signal.removeEventListener('abort', onAbort);
        if (this.#runs.get(id) === followed) this.#runs.delete(id);
      };
      const onAbort = () => {
        end();
        reject(signal.reason);
      };
      const followed: Followed<R> = {
        id,
        startedAt,
        onPoll,
        resolve: (ended) => {
          end();
          resolve(ended);
        },
        reject: (error) => {
          end();
          reject(error);
        },
        due: performance.now() + gap(Date.now() - startedAt),
        failures: 0,
        missing: 0,
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#runs.set(id, followed);
      this.#wake.abort();
      void this.#lookOn();
    });
  }

  async #lookOn(): Promise<void> {
    if (this.#polling) return;
    this.#polling = true;
    try {
      while (this.#runs.size > 0) {
        const now = performance.now();
        const next = Math.min(...[...this.#runs.values()].map((followed) => followed.due));
        // What is due a little later is looked at together with what is due now.
        const at = next + (this.#runs.size >= LIST_FROM ? TOGETHER_MS : 0);
        if (at > now) {
          this.#wake = new AbortController();
          await delay(Math.min(at - now, MAX_GAP_MS), undefined, { signal: this.#wake.signal }).catch(() => undefined);
          continue;
        }
        const due = [...this.#runs.values()].filter((followed) => followed.due <= now);
        for (const followed of due) followed.due = Number.POSITIVE_INFINITY;
        // A look without an answer keeps nobody else waiting.
        void this.#lookAtAll(due);
      }
    } finally {
      this.#polling = false;
    }
  }

  async #lookAtAll(due: readonly Followed<R>[]): Promise<void> {
    const rest = due.length >= LIST_FROM && this.#kind.list ? await this.#lookAtList(due) : due;
    // Those that the list told of are due again, however long the rest takes.
    this.#wake.abort();
    await Promise.all(rest.map((followed) => this.#poll(followed).finally(() => this.#wake.abort())));
  }

  /** Takes what the list says of the runs followed; answers with those that need a look of their own. */
  async #lookAtList(due: readonly Followed<R>[]): Promise<Followed<R>[]> {
    const list = this.#kind.list as NonNullable<RunKind<R>['list']>;
    const left = new Set(due);
    const ended: Followed<R>[] = [];
    let cursor: string | undefined;
    try {
      for (let page = 0; page < MAX_PAGES && left.size > 0; page++) {
        const { data } = await this.#send(list, { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
        const reported = readPage(data);
        for (const run of reported?.items ?? []) {
          const followed = this.#runs.get(this.#kind.idOf(run) ?? '');
          if (!followed) continue;
          left.delete(followed);
          // Its whole record is read by itself: a list may tell less.
          if (this.#kind.ended(run)) ended.push(followed);
          else this.#goesOn(followed, run);
        }
        if (!reported?.cursor || reported.items.length === 0) break;
        cursor = reported.cursor;
      }
    } catch (error) {
      // Without a list each is looked at by itself; what is no failure of the service ends them all.
      if (!isApiError(error)) {
        for (const followed of due) followed.reject(error);
        return [];
      }
    }
    return [...ended, ...left];
  }

  async #poll(followed: Followed<R>): Promise<void> {
    if (this.#runs.get(followed.id) !== followed) return;
    try {
      const answer = await this.#send(this.#kind.one, { id: followed.id });
      const { data, requestId } = answer;
      if (this.#kind.ended(data)) followed.resolve({ run: data, requestId, kept: landingOf(answer) });
      else this.#goesOn(followed, data);
    } catch (error) {
      this.#failed(followed, error);
    }
  }

  #goesOn(followed: Followed<R>, run: R): void {
    followed.failures = 0;
    followed.missing = 0;
    followed.due = performance.now() + gap(Date.now() - followed.startedAt);
    followed.onPoll?.(run);
  }

  #failed(followed: Followed<R>, error: unknown): void {
    if (!isApiError(error)) {
      followed.reject(error);
      return;
    }
    const { type, retry } = error.verdict;
    // A run that the service gave up itself (interface section 7) may be told of all the same, for a while.
    if (error.facts.tag === 'TIMEOUT' && followed.failures >= MAX_TIMEOUTS) {
      followed.resolve({ run: null, requestId: error.requestId });
      return;
    }
    if (type === 'NotFound' && ++followed.missing >= MAX_MISSING) {
      followed.resolve({ run: null, requestId: error.requestId });
      return;
    }
    const passes = retry || type === 'NotFound' || (type === 'ResponseShape' && followed.failures < MAX_ODD);
    if (!passes) {
      followed.reject(error);
      return;
    }
    const wait = backoffMs(followed.failures++, 1000, 30_000, Math.random());
    followed.due = performance.now() + Math.max(error.facts.retryAfterMs ?? 0, wait);
  }

  #send<I, O>(endpoint: Endpoint<I, O>, input: I) {
    return callInTurn(this.#deps, endpoint, input, { ...this.#kind.options, totalMs: POLL_TIMEOUT_MS });
  }
}

function gap(age: number): number {
  return Math.min(MAX_GAP_MS, Math.max(MIN_GAP_MS, age * GAP_OF_AGE));
}
