import {
  ActivityFailure,
  allHandlersFinished,
  CancellationScope,
  condition,
  defineQuery,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { createWalkActivities } from '../../activities/events/walk.js';
import type { WalkCounts, WalkInput, WalkProgress, WalkSummary, WalkWindowResult } from '../../core/events/walk-job.js';
import { type JobPhase, queryNames } from '../../core/rows/job.js';
import { type Pause, pauseOf } from '../../core/rows/pause.js';
import { SliceQueue, toRanges } from '../rows/slice-set.js';
import { endedByCancel, failureOf, messageOf, toWorkflowFailure } from '../shared/failures.js';
import { handleSignals } from '../shared/handle-signals.js';
import { bulkPolicy, slicePolicy } from '../shared/policies.js';
import { forFirst } from '../shared/public-input.js';
import { figuresOf, nextRun, openedState, type PageWalkState, stoppedBefore, withResult } from './page-walk-state.js';
import { walkDetails } from './walk-details.js';

type WalkActivities = ReturnType<typeof createWalkActivities>;

/** Continues the walk in a new run of its workflow. */
export type AnotherWalk = (state: PageWalkState) => Promise<never>;

const DEFAULT_PARALLEL = 16;
/** In ms. A sync that ends more than this time after its opening also reads the events since its opening. */
const LATE_MS = 120_000;

const progressQuery = defineQuery<WalkProgress>(queryNames.progress);

const { walkWindow } = proxyActivities<WalkActivities>(slicePolicy);
const { openWalk, finishWalk } = proxyActivities<WalkActivities>(bulkPolicy);

/**
 * Walks a list window by window, several at once, until none is left. The warehouse keeps all windows and their states. The workflow only
 * keeps the numbers of the windows that are left.
 */
export async function pageWalk(
  input: WalkInput,
  carried: PageWalkState | undefined,
  again: AnotherWalk,
): Promise<WalkSummary> {
  const walk = new PageWalk(input, carried, again);
  setHandler(progressQuery, () => walk.progress());
  handleSignals({
    pause: () => walk.pause({ reason: 'person', message: 'paused by a person' }),
    resume: () => walk.resume(),
    stop: (why?: string) => walk.stop(why),
  });
  return walk.toEnd();
}

class PageWalk {
  readonly #input: WalkInput;
  readonly #again: AnotherWalk;
  #phase: JobPhase = 'planning';
  #state: PageWalkState | null;
  #queue = new SliceQueue([]);
  #running = 0;
  #scope = new CancellationScope();
  #fatal: unknown = null;
  #message: string | null = null;
  /** A pause that was requested before the walk was opened. */
  #early: Pause | null = null;
  #changes = 0;
  #isStopped = false;

  constructor(input: WalkInput, carried: PageWalkState | undefined, again: AnotherWalk) {
    this.#input = input;
    this.#state = carried ?? null;
    this.#again = again;
  }

  /** The name for `resume`. Null for a scheduled run, because the next run continues the walk. */
  get #resumable(): string | null {
    return this.#input.scheduled ? null : workflowInfo().workflowId;
  }

  get #parallel(): number {
    return Math.max(1, this.#input.parallel ?? DEFAULT_PARALLEL);
  }

  progress(): WalkProgress {
    const state = this.#state;
    return {
      phase: this.#phase,
      pausedFor: (state?.paused ?? this.#early)?.reason ?? null,
      message: state?.paused?.message ?? this.#message,
      ...figuresOf(state, this.#queue.size + this.#running, Date.now()),
      startedAt: state?.startedAt ?? workflowInfo().startTime.getTime(),
    };
  }

  pause(pause: Pause): void {
    this.#changes++;
    if (!this.#state) this.#early ??= pause;
    else if (!this.#state.paused) {
      this.#set({ paused: pause });
      // Pages in flight land. The rest of each window is walked later.
      this.#scope.cancel();
    }
  }

  stop(message = 'stopped by a person'): void {
    const paused: Pause = { reason: 'person', message };
    this.#isStopped = true;
    this.#early = paused;
    this.pause(paused);
    if (this.#state) this.#set({ paused });
  }

  resume(): void {
    if (this.#isStopped) return;
    this.#changes++;
    this.#early = null;
    if (this.#state?.paused) this.#set({ paused: null, resumedAt: Date.now() });
  }

  async toEnd(): Promise<WalkSummary> {
    try {
      const refused = await this.#begin();
      if (refused !== null) return stoppedBefore(this.#input, refused);
      for (;;) {
        const stopped = await this.#walkWindows();
        this.#phase = 'running';
        const { walk, startedAt, before, continues } = this.#now;
        const end = await finishWalk({ walk, startedAt, before, stopped });
        if (end.summary === null) this.#queue = new SliceQueue(toRanges(end.pending));
        else if (stopped === null && (continues || this.#isLate)) await this.#openNext(end.summary);
        else {
          this.#phase = 'done';
          this.#show();
          return end.summary;
        }
      }
    } catch (error) {
      this.#phase = isCancellation(error) ? 'cancelled' : 'failed';
      this.#message = messageOf(error);
      this.#show();
      throw error instanceof ActivityFailure ? toWorkflowFailure(error) : error;
    }
  }

  /** The state of an opened walk. */
  get #now(): PageWalkState {
    return this.#state as PageWalkState;
  }

  /**
   * Opens the walk if it is not open; waits while the service refuses. If a scheduled or stopped run must end instead, returns the reason.
   */
  async #begin(): Promise<string | null> {
    while (this.#state === null) {
      try {
        this.#state = await this.#open(forFirst(this.#input));
      } catch (error) {
        const pause = pauseOf(failureOf(error), this.#resumable, null);
        if (!pause) throw error;
        if (this.#input.scheduled) return pause.message;
        if (this.#isStopped) return this.#early?.message ?? null;
        [this.#early, this.#phase, this.#message] = [pause, 'paused', pause.message];
        this.#show();
        await condition(() => this.#early === null || this.#isStopped);
        if (this.#isStopped) return this.#early?.message ?? null;
        [this.#phase, this.#message] = ['planning', null];
      }
    }
    this.#queue = new SliceQueue(this.#state.queue);
    return null;
  }

  async #open(input: Parameters<WalkActivities['openWalk']>[0]): Promise<PageWalkState> {
    const startedAt = workflowInfo().startTime.getTime();
    return openedState(this.#input, await openWalk(input), { startedAt, now: Date.now(), paused: this.#early });
  }

  /** Whether a sync ended so long after it was opened that it must read newer events. */
  get #isLate(): boolean {
    return this.#input.kind === 'sync' && Date.now() - this.#now.openedAt > LATE_MS;
  }

  /** After the windows of an earlier run are done, opens a run up to the present. */
  async #openNext(brought: WalkCounts): Promise<void> {
    const next = await this.#open(this.#input);
    this.#set(nextRun(next, brought));
    this.#queue = new SliceQueue(next.queue);
  }

  /** Keeps several windows in progress until none is left. If the walk stops early, returns the reason. */
  async #walkWindows(): Promise<string | null> {
    for (;;) {
      const seen = this.#changes;
      const { paused } = this.#now;
      const enough = workflowInfo().continueAsNewSuggested;
      this.#phase = paused ? 'paused' : 'running';
      this.#show();
      if (this.#fatal && this.#running === 0) throw this.#fatal;
      if (!this.#fatal && !paused && !enough) {
        while (this.#running < this.#parallel) {
          const window = this.#queue.take();
          if (window === undefined) break;
          void this.#walkOne(window);
        }
      }
      if (this.#running === 0 && paused && (this.#input.scheduled || this.#isStopped)) return paused.message;
      if (this.#running === 0 && !paused) {
        if (this.#queue.size === 0) return null;
        if (enough) await this.#continue();
      }
      try {
        await condition(() => this.#changes !== seen);
      } catch (error) {
        // After a cancel, pages in flight land first.
        await CancellationScope.nonCancellable(() => condition(() => this.#running === 0));
        throw error;
      }
    }
  }

  async #continue(): Promise<void> {
    await condition(allHandlersFinished);
    await this.#again({ ...this.#now, queue: this.#queue.ranges });
  }

  async #walkOne(window: number): Promise<void> {
    this.#running++;
    if (this.#scope.consideredCancelled) this.#scope = new CancellationScope();
    const { walk, resumedAt } = this.#now;
    try {
      this.#note(window, await this.#scope.run(() => walkWindow({ walk, window, splits: this.#parallel > 1 })));
    } catch (error) {
      this.#queue.putBack(window);
      if (!isCancellation(error) && !endedByCancel(error)) this.#failed(error, resumedAt);
    } finally {
      this.#running--;
      this.#changes++;
    }
  }

  #note(window: number, result: WalkWindowResult): void {
    this.#set(withResult(this.#now, result));
    for (const part of [...result.parts].reverse()) this.#queue.putBack(part);
    if (!result.done && result.parts.length === 0) this.#queue.putBack(window);
  }

  /** Handles a failed window. `resumedAt`: the last resume before the window was started. */
  #failed(error: unknown, resumedAt: number): void {
    const pause = pauseOf(failureOf(error), this.#resumable, null);
    if (pause) {
      // A refusal from before the last resume does not count.
      if (resumedAt === this.#state?.resumedAt) this.pause(pause);
    } else {
      this.#fatal ??= error;
      this.#scope.cancel();
    }
  }

  #set(changes: Partial<PageWalkState>): void {
    this.#state = { ...this.#now, ...changes };
  }

  #show(): void {
    setCurrentDetails(walkDetails(this.progress()));
  }
}
