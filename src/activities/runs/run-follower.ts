import { setTimeout as delay } from 'node:timers/promises';
import type { PageRequest } from '../../api/schemas/page.js';
import type { SendOptions } from '../../api/transport.js';
import type { ById, Endpoint } from '../../api/wire/endpoint.js';
import { type PageEnvelope, readPage } from '../../core/events/walk.js';
import { backoffMs } from '../../core/purchase/backoff.js';
import { callInTurn, type SendDeps } from '../call/call-in-turn.js';
import { isApiError } from '../call/failure.js';
import { type Landing, landingOf } from '../call/landing.js';

/** One kind of run at the service, and how it is polled. */
export interface RunKind<R> {
  readonly one: Endpoint<ById, R>;
  /** A list of runs, newest first, for polling many at once. */
  readonly list: Endpoint<PageRequest, PageEnvelope<R>> | null;
  /** The variant of the operations, where it differs from the contract's. */
  readonly options?: SendOptions;
  idOf(run: R): string | null;
  ended(run: R): boolean;
  /** Unix ms by the service's clock; null where the record has none. */
  createdAt(run: R): number | null;
}

/** How following ended: the run's last record, or `null` where the service no longer returns the run. */
export interface FollowedRun<R> {
  readonly run: R | null;
  readonly requestId: string | null;
  /** The record byte for byte, where there is one. */
  readonly kept?: Landing;
}

interface Followed<R> {
  readonly id: string;
  readonly startedAt: number;
  readonly onPoll: ((run: R) => void) | undefined;
  readonly resolve: (end: FollowedRun<R>) => void;
  readonly reject: (error: unknown) => void;
  /** Unix ms; infinite during a poll. */
  due: number;
  failures: number;
  missing: number;
}

/** The interval between polls, as a part of the run's age. */
const GAP_OF_AGE = 0.05;
const MIN_GAP_MS = 500;
const MAX_GAP_MS = 15_000;
/** The timeout of a poll, which is free and is repeated. */
export const POLL_TIMEOUT_MS = 15_000;
/** Number of due polls from which the list is read instead. */
const LIST_FROM = 4;
const PAGE = 100;
const MAX_PAGES = 3;
/** Polls that are due within this time are made together, in ms. */
const TOGETHER_MS = 200;
/** After this many consecutive polls without the run it is gone. Fewer prove nothing: a run may not be visible right after its start. */
const MAX_MISSING = 3;
/** Consecutive timeouts reported by the service after which the run is given up. */
const MAX_TIMEOUTS = 8;
/** Consecutive answers without a run that count as answers of the service; fewer may come from a proxy. */
const MAX_ODD = 5;

/**
 * Follows many runs at the service at once, until they end: one page of the list has a hundred. Polls do not count against the rate, but
 * wait while the service asks for a pause. Failed polls are repeated; a failure that no retry helps rejects.
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
   * Resolves when the run has ended or is gone. `startedAt` (Unix ms) sets the interval of the polls. Rejects with the signal's
   * reason when aborted (the run stays in progress), and with `ApiError` where polls are refused. One call a run at a time.
   */
  follow(
    id: string,
    options: {
      readonly startedAt: number;
      readonly signal: AbortSignal;
      /** Gets each record that was read. */
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
      void this.#pollAll();
    });
  }

  async #pollAll(): Promise<void> {
    if (this.#polling) return;
    this.#polling = true;
    try {
      while (this.#runs.size > 0) {
        const now = performance.now();
        const next = Math.min(...[...this.#runs.values()].map((followed) => followed.due));
        // Polls that are due a little later are made together with those that are due now.
        const at = next + (this.#runs.size >= LIST_FROM ? TOGETHER_MS : 0);
        if (at > now) {
          this.#wake = new AbortController();
          await delay(Math.min(at - now, MAX_GAP_MS), undefined, { signal: this.#wake.signal }).catch(() => undefined);
          continue;
        }
        const due = [...this.#runs.values()].filter((followed) => followed.due <= now);
        for (const followed of due) followed.due = Number.POSITIVE_INFINITY;
        // A poll without an answer keeps no other run waiting.
        void this.#pollDue(due);
      }
    } finally {
      this.#polling = false;
    }
  }

  async #pollDue(due: readonly Followed<R>[]): Promise<void> {
    const rest = due.length >= LIST_FROM && this.#kind.list ? await this.#pollList(due) : due;
    // Runs in the list get new poll times at once, without waiting for the other runs.
    this.#wake.abort();
    await Promise.all(rest.map((followed) => this.#poll(followed).finally(() => this.#wake.abort())));
  }

  /** Polls runs by the list; returns those that need a poll of their own. */
  async #pollList(due: readonly Followed<R>[]): Promise<Followed<R>[]> {
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
          // The whole record is read separately: a list may omit parts of it.
          if (this.#kind.ended(run)) ended.push(followed);
          else this.#inProgress(followed, run);
        }
        if (!reported?.cursor || reported.items.length === 0) break;
        cursor = reported.cursor;
      }
    } catch (error) {
      // Without a list each run is polled alone; a local failure ends the following of all runs.
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
      else this.#inProgress(followed, data);
    } catch (error) {
      this.#failed(followed, error);
    }
  }

  #inProgress(followed: Followed<R>, run: R): void {
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
    // After a timeout of the run the service may still return it for a while.
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
