import { continueAsNew, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { createWalkActivities } from '../activities/events/walk.js';
import {
  DEFAULT_EVENT_WAREHOUSE,
  type OpenedWalk,
  streamOf,
  stretchProblem,
  type WalkInput,
  type WalkWindowResult,
} from '../core/events/walk-job.js';
import { pieceId } from '../core/rows/job-ids.js';
import type { PauseReason } from '../core/rows/job-names.js';
import { type Pause, sentenceOf } from '../core/rows/pause.js';
import type { BackfillEventsInput, SyncEventsInput } from '../core/workflow-input-schemas.js';
import type { WalkCounts, WalkProgress, WalkSummary } from '../core/workflow-result-schemas.js';
import { detailsText } from './shared/failures.js';
import { bulkPolicy, slicePolicy } from './shared/policies.js';
import { forFirst, publicInput } from './shared/public-input.js';
import { RangeQueue, toRanges } from './shared/range-queue.js';
import { setVersioning, summarizedActivities } from './shared/versioning.js';
import { WindowedJob, type WindowedState, type WindowedStatus } from './shared/windowed-job.js';

type WalkActivities = ReturnType<typeof createWalkActivities>;

const DEFAULT_PARALLEL = 16;
/** In ms. A sync that ends more than this time after its opening also reads the events since its opening. */
const LATE_MS = 120_000;

const { openWalk, finishWalk } = summarizedActivities(bulkPolicy, {
  openWalk: 'find the range that is not loaded',
  finishWalk: 'record the end of the walk',
});

/**
 * `syncEvents`: loads the webset events since the last run into a warehouse, up to one minute before the present time at the service. Each
 * run reads the last 15 minutes again, and once a day the last two days.
 *
 * Start the workflow by name with plain JSON, see `SyncEventsInput`. Signals `pause` and `resume`, query `progress`. Use a stable workflow
 * id: concurrent runs load each event once, but read it twice. The second argument is internal, for continuing as new. API reference:
 * /websets/v0/events.
 */
export async function syncEvents(input: SyncEventsInput, state?: PageWalkState, ...extra: []): Promise<WalkSummary> {
  const checked = publicInput('syncEvents', [input], { carried: state, extra, isFree: true });
  const again = (next: PageWalkState) => continueAsNew<typeof syncEvents>(checked, next);
  return new PageWalk({ ...checked, kind: 'sync' }, state, again).run();
}

/**
 * `backfillEvents`: loads webset events of a range of time into a warehouse, in many windows at once. A backfill has its own watermark, so
 * it may run at the same time as `syncEvents`. A new start with the same input continues the backfill.
 *
 * Start the workflow by name with plain JSON, see `BackfillEventsInput`. Signals `pause` and `resume`, query `progress`. The second
 * argument is internal, for continuing as new. API reference: /websets/v0/events.
 */
export async function backfillEvents(
  input: BackfillEventsInput,
  state?: PageWalkState,
  ...extra: []
): Promise<WalkSummary> {
  const checked = publicInput('backfillEvents', [input], { carried: state, extra, isFree: true, also: stretchProblem });
  const again = (next: PageWalkState) => continueAsNew<typeof backfillEvents>(checked, next);
  return new PageWalk({ ...checked, kind: 'backfill' }, state, again).run();
}

for (const workflow of [syncEvents, backfillEvents]) setVersioning('moves', workflow);

/**
 * Walks a list window by window, several at once, until none is left. The warehouse keeps all windows and their states. The workflow only
 * keeps the numbers of the windows that are left.
 */
class PageWalk extends WindowedJob<PageWalkState, WalkWindowResult, WalkSummary> {
  protected readonly kind = 'walk';
  readonly #input: WalkInput;
  /** The latest pause that was reported. */
  #reported: unknown = null;
  /** Why the service refused to open the walk. */
  #refusal: PauseReason | undefined;

  constructor(input: WalkInput, carried: PageWalkState | undefined, again: (state: PageWalkState) => Promise<never>) {
    super({ carried, scheduled: input.scheduled, again });
    this.#input = input;
  }

  protected get name(): string {
    return workflowInfo().workflowId;
  }

  protected get window(): number {
    return Math.max(1, this.#input.parallel ?? DEFAULT_PARALLEL);
  }

  progress(): WalkProgress {
    return {
      ...figuresOf(this.state, this.queue.size + this.running.size, Date.now()),
      ...this.status,
    };
  }

  protected details(): string {
    return walkDetails(this.progress());
  }

  protected async work(): Promise<WalkSummary> {
    const refused = await this.#begin();
    if (refused !== null) {
      this.phase = 'stopped';
      this.show();
      await this.report({ phase: 'stopped', reason: this.#refusal });
      return stoppedBefore(this.#input, refused);
    }
    for (;;) {
      const pause = await this.runPieces();
      const stopped = pause && sentenceOf(pause);
      this.phase = 'running';
      const { walk, startedAt, before, continues } = this.opened;
      const run = { id: workflowInfo().firstExecutionRunId, scheduled: this.isScheduled };
      const end = await finishWalk({ walk, startedAt, before, stopped, run });
      if (end.summary === null) this.queue = new RangeQueue(toRanges(end.pending));
      else if (stopped === null && (continues || this.#isLate)) await this.#openNext(end.summary);
      else {
        this.phase = 'done';
        this.show();
        return end.summary;
      }
    }
  }

  /**
   * Opens the walk if it is not open; waits while the service refuses. If a scheduled or stopped run must end instead, returns the reason.
   */
  async #begin(): Promise<string | null> {
    while (this.state === null) {
      try {
        this.state = await this.#open(forFirst(this.#input));
        this.queue = new RangeQueue(this.state.queue);
      } catch (error) {
        const pause = this.pauseFor(error);
        if (!pause) throw error;
        this.#refusal = pause.reason;
        if (this.isScheduled) return sentenceOf(pause);
        if (this.isStopped) return this.early?.message ?? null;
        this.early = pause;
        await this.resumedInPlanning(() => this.report({ phase: 'paused', reason: pause.reason }));
        if (this.isStopped) return this.early?.message ?? null;
      }
    }
    return null;
  }

  /** Reports a pause once. A run that ends instead is reported when it ends. */
  protected override whilePaused(): Promise<void> | null {
    const { paused } = this.opened;
    if (paused === null || paused === this.#reported || this.isScheduled || this.isStopped) return null;
    this.#reported = paused;
    return this.report({ phase: 'paused', reason: paused.reason });
  }

  async #open(input: Parameters<WalkActivities['openWalk']>[0]): Promise<PageWalkState> {
    const startedAt = workflowInfo().startTime.getTime();
    return openedState(this.#input, await openWalk(input), { startedAt, now: Date.now(), paused: this.early });
  }

  /** Whether a sync ended so long after it was opened that it must read newer events. */
  get #isLate(): boolean {
    return this.#input.kind === 'sync' && Date.now() - this.opened.openedAt > LATE_MS;
  }

  /** After the windows of an earlier run are done, opens a run up to the present. */
  async #openNext(brought: WalkCounts): Promise<void> {
    const next = await this.#open(this.#input);
    this.set(nextRun(next, brought));
    this.queue = new RangeQueue(next.queue);
  }

  protected perform(window: number): Promise<WalkWindowResult> {
    const options = { ...slicePolicy, activityId: pieceId(window), summary: `window ${window}` };
    const { walkWindow } = proxyActivities<WalkActivities>(options);
    return walkWindow({ walk: this.opened.walk, window, splits: this.window > 1 });
  }

  protected landed(window: number, result: WalkWindowResult): void {
    this.set(withResult(this.opened, result));
    for (const part of [...result.parts].reverse()) this.putBack(part);
    if (!result.done && result.parts.length === 0) this.putBack(window);
  }
}

/** The state of a walk that is kept across continue-as-new. */
export interface PageWalkState extends WindowedState, WalkCounts, Omit<OpenedWalk, 'windows'> {
  readonly version: 1;
  /** When this run was opened, in Unix ms; the range of the run ends about a minute earlier. */
  readonly openedAt: number;
  readonly windowsDone: number;
  /** `doneMs` when this run of the workflow began. */
  readonly doneBeforeMs: number;
}

export function openedState(
  input: WalkInput,
  { walk, windows, continues, lengthMs, doneMs, before }: OpenedWalk,
  { startedAt, now, paused }: { readonly startedAt: number; readonly now: number; readonly paused: Pause | null },
): PageWalkState {
  return {
    version: 1,
    walk,
    queue: toRanges(windows),
    // Only a sync opens a further run; a backfill has only one.
    continues: continues && input.kind === 'sync',
    before,
    paused,
    startedAt,
    openedAt: now,
    resumedAt: now,
    windowsDone: 0,
    lengthMs,
    doneMs,
    doneBeforeMs: doneMs,
    ...{ pages: 0, events: 0, added: 0, changed: 0 },
  };
}

/**
 * Returns the changes of the state for the next run of a walk. `brought`: the counts of the earlier run, which the summary of the walk
 * includes.
 */
export function nextRun(
  { before, lengthMs, doneMs, openedAt }: PageWalkState,
  brought: WalkCounts,
): Partial<PageWalkState> {
  const less = (name: keyof WalkCounts) => before[name] - brought[name];
  return {
    before: { pages: less('pages'), events: less('events'), added: less('added'), changed: less('changed') },
    continues: false,
    ...{ lengthMs, doneMs, doneBeforeMs: doneMs, openedAt },
  };
}

/** Returns the changes of the state after one execution of a window. */
export function withResult(state: PageWalkState, result: WalkWindowResult): Partial<PageWalkState> {
  const { done, parts, lengthMs, partsMs, events } = result;
  // Windows before the first event are empty and take almost no time, so their length does not count.
  const empty = done && events === 0;
  return {
    pages: state.pages + result.pages,
    events: state.events + result.events,
    added: state.added + result.added,
    changed: state.changed + result.changed,
    windowsDone: state.windowsDone + (done ? 1 : 0),
    doneMs: state.doneMs + (done && !empty ? lengthMs : 0),
    lengthMs: state.lengthMs + (parts.length > 0 ? partsMs - lengthMs : empty ? -lengthMs : 0),
  };
}

/** The part of the length that must be done before the remaining time is estimated. The first windows may be empty, or end all at once. */
const ENOUGH_SHARE = 0.1;

/** Returns the figures of a walk's progress. `left`: number of windows that are not done; `now`: Unix ms. */
export function figuresOf(
  state: PageWalkState | null,
  left: number,
  now: number,
): Omit<WalkProgress, keyof WindowedStatus> {
  if (!state) {
    return {
      stream: '',
      windows: 0,
      windowsDone: 0,
      share: null,
      lengthMs: 0,
      etaMs: null,
      ...{ pages: 0, events: 0, added: 0, changed: 0 },
    };
  }
  const { walk, windowsDone, lengthMs, doneMs, doneBeforeMs, startedAt, pages, events, added, changed } = state;
  const doneNowMs = doneMs - doneBeforeMs;
  const enough = doneNowMs > 0 && doneNowMs >= ENOUGH_SHARE * (lengthMs - doneBeforeMs);
  return {
    stream: walk.stream,
    windows: windowsDone + left,
    windowsDone,
    share: lengthMs > 0 ? doneMs / lengthMs : null,
    lengthMs,
    etaMs: enough ? Math.round(((lengthMs - doneMs) * (now - startedAt)) / doneNowMs) : null,
    ...{ pages, events, added, changed },
  };
}

/** Returns the state of a walk for Temporal's web UI (Markdown). */
function walkDetails(progress: WalkProgress): string {
  const { stream, windows, windowsDone, share, events, added, changed } = progress;
  const part = share === null ? '' : ` (${Math.round(share * 100)}% of the time)`;
  return detailsText(`**${stream}**`, progress, [
    `${windowsDone} of ${windows} windows${part}, ${events} events read, ${added} new, ${changed} with newer contents`,
  ]);
}

/** The summary of a scheduled run that the service refused at its beginning. */
export function stoppedBefore(input: WalkInput, message: string): WalkSummary {
  return {
    stream: streamOf(input),
    into: input.into ?? DEFAULT_EVENT_WAREHOUSE,
    phase: 'stopped',
    message,
    watermark: null,
    ...{ windows: 0, pages: 0, events: 0, added: 0, changed: 0, seconds: 0 },
  };
}
