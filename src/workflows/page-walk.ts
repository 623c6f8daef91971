import {
  ActivityFailure,
  allHandlersFinished,
  CancellationScope,
  condition,
  defineQuery,
  defineSignal,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { createWalkActivities } from '../activities/walk.js';
import { type JobPhase, queryNames, signalNames } from '../core/job.js';
import { type Pause, pauseOf } from '../core/pause.js';
import type { Walk, WalkCounts, WalkInput, WalkProgress, WalkSummary, WalkWindowResult } from '../core/walk-job.js';
import { endedByCancel, failureOf, messageOf, toWorkflowFailure } from './failures.js';
import { bulkPolicy, slicePolicy } from './policies.js';
import { type Ranges, SliceQueue, toRanges } from './slice-set.js';
import { walkDetails } from './walk-details.js';

type WalkActivities = ReturnType<typeof createWalkActivities>;

/** Everything of a walk that outlives a continue-as-new. */
export interface PageWalkState extends WalkCounts {
  readonly version: 1;
  readonly walk: Walk;
  readonly queue: Ranges;
  /** What is walked now is left from an earlier run: there may be more behind it. */
  readonly continues: boolean;
  readonly before: WalkCounts;
  readonly paused: Pause | null;
  readonly startedAt: number;
  readonly resumedAt: number;
  readonly windowsDone: number;
  /** Length of the windows that have a beginning, of those done, and of those done when this run of the workflow began, ms. */
  readonly lengthMs: number;
  readonly doneMs: number;
  readonly doneBeforeMs: number;
}

/** Continues the walk in a new run of its workflow. */
export type AnotherWalk = (state: PageWalkState) => Promise<never>;

const DEFAULT_PARALLEL = 16;

const pauseSignal = defineSignal(signalNames.pause);
const resumeSignal = defineSignal(signalNames.resume);
const progressQuery = defineQuery<WalkProgress>(queryNames.progress);

const { walkWindow } = proxyActivities<WalkActivities>(slicePolicy);
const { openWalk, finishWalk } = proxyActivities<WalkActivities>(bulkPolicy);

/**
 * Walks a list window by window, so many at once, until none is left. Which windows there are and how far each is, the
 * warehouse knows; here is only what is running.
 */
export async function pageWalk(
  input: WalkInput,
  carried: PageWalkState | undefined,
  again: AnotherWalk,
): Promise<WalkSummary> {
  const walk = new PageWalk(input, carried, again);
  setHandler(progressQuery, () => walk.progress());
  setHandler(pauseSignal, () => walk.pause({ reason: 'person', message: 'paused by a person' }));
  setHandler(resumeSignal, () => walk.resume());
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
  /** A pause that came before the walk was opened. */
  #early: Pause | null = null;
  #changes = 0;

  constructor(input: WalkInput, carried: PageWalkState | undefined, again: AnotherWalk) {
    this.#input = input;
    this.#state = carried ?? null;
    this.#again = again;
  }

  progress(): WalkProgress {
    const state = this.#state;
    const { lengthMs = 0, doneMs = 0, doneBeforeMs = 0, windowsDone = 0 } = state ?? {};
    const startedAt = state?.startedAt ?? workflowInfo().startTime.getTime();
    const rate = (doneMs - doneBeforeMs) / Math.max(1, Date.now() - startedAt);
    const { pages = 0, events = 0, added = 0, changed = 0 } = state ?? {};
    return {
      phase: this.#phase,
      pausedFor: state?.paused?.reason ?? null,
      message: state?.paused?.message ?? this.#message,
      stream: state?.walk.stream ?? '',
      windows: windowsDone + this.#queue.size + this.#running,
      windowsDone,
      share: lengthMs > 0 ? doneMs / lengthMs : null,
      etaMs: rate > 0 ? Math.round((lengthMs - doneMs) / rate) : null,
      startedAt,
      pages,
      events,
      added,
      changed,
    };
  }

  pause(pause: Pause): void {
    this.#changes++;
    if (!this.#state) this.#early ??= pause;
    else if (!this.#state.paused) {
      this.#set({ paused: pause });
      // What was read lands; the rest of each window is walked from there.
      this.#scope.cancel();
    }
  }

  resume(): void {
    this.#changes++;
    this.#early = null;
    if (this.#state?.paused) this.#set({ paused: null, resumedAt: Date.now() });
  }

  async toEnd(): Promise<WalkSummary> {
    try {
      this.#state ??= await this.#open();
      this.#queue = new SliceQueue(this.#state.queue);
      for (;;) {
        const stopped = await this.#walkWindows();
        this.#phase = 'running';
        const { walk, startedAt, before } = this.#state;
        const end = await finishWalk({ walk, startedAt, before, stopped });
        if (end.summary === null) this.#queue = new SliceQueue(toRanges(end.pending));
        else if (this.#state.continues && stopped === null) await this.#openNext();
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

  async #open(): Promise<PageWalkState> {
    const { walk, windows, continues, lengthMs, doneMs, before } = await openWalk(this.#input);
    return {
      version: 1,
      walk,
      queue: toRanges(windows),
      // A backfill has one run.
      continues: continues && this.#input.kind === 'sync',
      before,
      paused: this.#early,
      startedAt: workflowInfo().startTime.getTime(),
      resumedAt: Date.now(),
      windowsDone: 0,
      lengthMs,
      doneMs,
      doneBeforeMs: doneMs,
      pages: 0,
      events: 0,
      added: 0,
      changed: 0,
    };
  }

  /** What an earlier run left is done: the run of now. */
  async #openNext(): Promise<void> {
    const { queue, before, lengthMs, doneMs } = await this.#open();
    this.#set({ before, continues: false, lengthMs, doneMs, doneBeforeMs: doneMs });
    this.#queue = new SliceQueue(queue);
  }

  /** Keeps windows in flight until none is left; answers with why a scheduled run stops early. */
  async #walkWindows(): Promise<string | null> {
    const parallel = this.#input.parallel ?? DEFAULT_PARALLEL;
    for (;;) {
      const seen = this.#changes;
      const { paused } = this.#state as PageWalkState;
      const enough = workflowInfo().continueAsNewSuggested;
      this.#phase = paused ? 'paused' : 'running';
      this.#show();
      if (this.#fatal && this.#running === 0) throw this.#fatal;
      if (!this.#fatal && !paused && !enough) {
        while (this.#running < parallel) {
          const window = this.#queue.take();
          if (window === undefined) break;
          void this.#walkOne(window);
        }
      }
      if (this.#running === 0 && paused && this.#input.scheduled) return paused.message;
      if (this.#running === 0 && !paused) {
        if (this.#queue.size === 0) return null;
        if (enough) await this.#continue();
      }
      try {
        await condition(() => this.#changes !== seen);
      } catch (error) {
        // Cancelled: what was read lands first.
        await CancellationScope.nonCancellable(() => condition(() => this.#running === 0));
        throw error;
      }
    }
  }

  async #continue(): Promise<void> {
    await condition(allHandlersFinished);
    await this.#again({ ...(this.#state as PageWalkState), queue: this.#queue.ranges });
  }

  async #walkOne(window: number): Promise<void> {
    this.#running++;
    if (this.#scope.consideredCancelled) this.#scope = new CancellationScope();
    const { walk, resumedAt } = this.#state as PageWalkState;
    try {
      this.#note(window, await this.#scope.run(() => walkWindow({ walk, window })));
    } catch (error) {
      this.#queue.putBack(window);
      if (!isCancellation(error) && !endedByCancel(error)) this.#failed(error, resumedAt);
    } finally {
      this.#running--;
      this.#changes++;
    }
  }

  #note(window: number, result: WalkWindowResult): void {
    const now = this.#state as PageWalkState;
    const { done, parts, lengthMs, partsMs } = result;
    const split = parts.length > 0;
    this.#set({
      pages: now.pages + result.pages,
      events: now.events + result.events,
      added: now.added + result.added,
      changed: now.changed + result.changed,
      windowsDone: now.windowsDone + (done ? 1 : 0),
      doneMs: now.doneMs + (done ? lengthMs : 0),
      lengthMs: now.lengthMs + (split ? partsMs - lengthMs : 0),
    });
    for (const part of [...parts].reverse()) this.#queue.putBack(part);
    if (!done && !split) this.#queue.putBack(window);
  }

  /** `resumedAt` is what the window was started with. */
  #failed(error: unknown, resumedAt: number): void {
    const pause = pauseOf(failureOf(error), workflowInfo().workflowId, null);
    if (pause) {
      // A refusal from before the last resume has been answered by that resume.
      if (resumedAt === this.#state?.resumedAt) this.pause(pause);
    } else {
      this.#fatal ??= error;
      this.#scope.cancel();
    }
  }

  #set(changes: Partial<PageWalkState>): void {
    this.#state = { ...(this.#state as PageWalkState), ...changes };
  }

  #show(): void {
    setCurrentDetails(walkDetails(this.progress()));
  }
}
