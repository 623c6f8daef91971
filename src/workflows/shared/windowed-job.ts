import { defineSearchAttributeKey } from '@temporalio/common';
import {
  allHandlersFinished,
  CancellationScope,
  ContinueAsNew,
  condition,
  defineQuery,
  defineSignal,
  isCancellation,
  proxySinks,
  setCurrentDetails,
  setDefaultSignalHandler,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { RunState } from '../../core/alerts/job-alerts.js';
import type { JobProgress } from '../../core/row-job-schemas.js';
import { jobOfWorkflow } from '../../core/rows/job-ids.js';
import { type JobPhase, queryNames, type signalNames, type WorkflowSinks } from '../../core/rows/job-names.js';
import { type Pause, pauseOf, type Said } from '../../core/rows/pause.js';
import { reportState } from '../alerts.js';
import { endedByCancel, failureOf, messageOf, toWorkflowFailure } from './failures.js';
import { RangeQueue, type Ranges } from './range-queue.js';

type SignalHandlers = {
  readonly [Name in keyof typeof signalNames]?: (content?: never) => void;
};

/**
 * Sets the handlers of a workflow's signals, in its first step. Signals that came before that step are handled in the order of their
 * arrival. The SDK would first handle all signals of one name: after `pause`, `resume` and `pause`, the work would run.
 */
function handleSignals(handlers: SignalHandlers): void {
  const early: { readonly name: string; readonly content: unknown }[] = [];
  setDefaultSignalHandler((name, content) => void early.push({ name, content }));
  setDefaultSignalHandler(undefined);
  const named = new Map(Object.entries(handlers) as [string, (content?: unknown) => void][]);
  for (const [name, handler] of named) setHandler(defineSignal<[unknown?]>(name), handler);
  for (const { name, content } of early) named.get(name)?.(content);
}

const { searchflow } = proxySinks<WorkflowSinks>();

/** The fields of a progress that are the same for every job. */
export type WindowedStatus = Pick<JobProgress, 'phase' | 'pausedFor' | 'message' | 'next' | 'startedAt'>;

/** The part of a job's state that every job keeps across continue-as-new. */
export interface WindowedState {
  /** The pieces of work that are left. */
  readonly queue: Ranges;
  readonly paused: Pause | null;
  readonly startedAt: number;
  readonly resumedAt: number;
}

interface WindowedOptions<State> {
  /** The state from an earlier run of the workflow. */
  readonly carried: State | undefined;
  /** Whether the job ends as `stopped` where it would otherwise wait for a person. */
  readonly scheduled: boolean | undefined;
  /** Continues the job in a new run of its workflow. */
  readonly again: (state: State) => Promise<never>;
}

/** Search attributes of Temporal: a job that was started with the first one keeps the second one up to date. */
const jobAttribute = defineSearchAttributeKey('SearchflowJob', 'KEYWORD');
const phaseAttribute = defineSearchAttributeKey('SearchflowPhase', 'KEYWORD');

/**
 * A job of numbered pieces of work, such as slices of rows, of which several are in progress at once. The job can be paused, resumed,
 * stopped and cancelled, and continues as new when its history is long. A subclass defines what a piece is, which activity does it, and how
 * its result changes the state.
 */
export abstract class WindowedJob<State extends WindowedState, Result, Summary> {
  protected phase: JobPhase = 'planning';
  protected said: Said<string> | null = null;
  /** Null until the job is opened. */
  protected state: State | null;
  protected queue: RangeQueue;
  protected readonly running = new Set<number>();
  /** A pause that was requested before the job was opened. */
  protected early: Pause | null = null;
  protected isStopped = false;
  protected readonly isScheduled: boolean;
  readonly #again: WindowedOptions<State>['again'];
  readonly #scopes = new Map<number, CancellationScope>();
  /** Pieces whose activity a person paused in Temporal. While there is one, no other piece runs. */
  readonly #held = new Set<number>();
  /** The work of the planning that a pause interrupts. */
  #planning: CancellationScope | null = null;
  #fatal: unknown = null;
  #changes = 0;
  #shown: JobPhase | null = null;

  constructor({ carried, scheduled = false, again }: WindowedOptions<State>) {
    this.state = carried ?? null;
    this.queue = new RangeQueue(carried?.queue ?? []);
    this.isScheduled = scheduled;
    this.#again = again;
  }

  /** Answer of the query `progress`. */
  abstract progress(): object;
  /** The state of the job for Temporal's web UI. */
  protected abstract details(): string;
  protected abstract readonly kind: 'rows' | 'walk';
  protected abstract get name(): string;
  /** Number of pieces in progress at once. */
  protected abstract get window(): number;
  /** Opens the job, calls {@link runPieces} and finishes the job. */
  protected abstract work(): Promise<Summary>;
  /** Does a piece, or a part of it. */
  protected abstract perform(piece: number): Promise<Result>;
  /** Applies the result of a piece to the state, and puts the rest of the work back. */
  protected abstract landed(piece: number, result: Result): void;

  /** Sets the handlers of the workflow and runs the job to its end. `further`: handlers of further signals. */
  run(further: SignalHandlers = {}): Promise<Summary> {
    setHandler(defineQuery<object>(queryNames.progress), () => this.progress());
    handleSignals({
      pause: () => this.pause({ reason: 'person', message: 'paused by a person' }),
      resume: (how?: never) => this.resume(how),
      // Ends the job as `stopped` after calls in flight have landed. The argument is the reason in a few words.
      stop: (why?: string) => this.stop(why),
      activityPaused: (piece?: never) => this.#hold(piece as unknown),
      activityUnpaused: (piece?: never) => this.#release(piece as unknown),
      ...further,
    });
    return this.#toEnd();
  }

  pause(paused: Pause): void {
    this.#changes++;
    if (!this.state) {
      this.early ??= paused;
      if (this.#planning && this.#waitsInPlanning()) this.#planning.cancel();
    } else if (!this.state.paused) {
      this.set({ paused });
      this.interrupt();
    }
  }

  /** Resumes a paused job. `how`: the content of the signal. */
  resume(_how?: unknown): void {
    if (this.isStopped) return;
    this.#changes++;
    this.early = null;
    if (this.state?.paused) this.set({ paused: null, resumedAt: Date.now() });
  }

  stop(message = 'stopped by a person'): void {
    const paused: Pause = { reason: 'person', message };
    this.isStopped = true;
    this.early = paused;
    this.pause(paused);
    // A job that was already paused stops for this reason instead of its earlier one.
    if (this.state) this.set({ paused });
  }

  /** Whether the job waits for `resume` before its planning is complete. A run that ends at a pause needs a complete plan for its summary. */
  #waitsInPlanning(): boolean {
    return this.early !== null && !this.isScheduled && !this.isStopped;
  }

  /** Does work of the planning. A pause interrupts this work, and after `resume` it begins again. */
  protected async planWith<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      if (this.#waitsInPlanning()) await this.resumedInPlanning();
      const scope = new CancellationScope();
      this.#planning = scope;
      try {
        return await scope.run(work);
      } catch (error) {
        const isPaused = scope.consideredCancelled && !CancellationScope.current().consideredCancelled;
        if (!isPaused || !isCancellation(error)) throw error;
      } finally {
        this.#planning = null;
      }
    }
  }

  /** Waits until the pause in the planning ends; `report` is done first. */
  protected async resumedInPlanning(report?: () => Promise<void>): Promise<void> {
    this.phase = 'paused';
    this.said = this.early;
    this.show();
    await report?.();
    await condition(() => this.early === null || this.isStopped);
    this.phase = 'planning';
    this.said = null;
    this.show();
  }

  /** Interrupts the pieces in progress. Calls in flight land; the rest of each piece returns to the queue. */
  protected interrupt(): void {
    for (const scope of this.#scopes.values()) scope.cancel();
    searchflow.interrupt();
  }

  /** Interrupts all other pieces; their rest returns to the queue. */
  #hold(piece: unknown): void {
    if (typeof piece !== 'number' || !this.running.has(piece) || this.state?.paused) return;
    this.#changes++;
    this.#held.add(piece);
    for (const [other, scope] of this.#scopes) if (!this.#held.has(other)) scope.cancel();
    searchflow.interrupt();
  }

  #release(piece: unknown): void {
    if (this.#held.delete(piece as number)) this.#changes++;
  }

  protected get opened(): State {
    return this.state as State;
  }

  protected set(changes: Partial<WindowedState> | Partial<State>): void {
    this.state = { ...this.opened, ...changes };
  }

  /** Changes the state, and looks again which work is next. */
  protected update(changes: Partial<State>): void {
    this.#changes++;
    this.set(changes);
  }

  protected show(): void {
    setCurrentDetails(this.details());
    if (this.phase === this.#shown || workflowInfo().typedSearchAttributes.get(jobAttribute) === undefined) return;
    this.#shown = this.phase;
    upsertSearchAttributes([{ key: phaseAttribute, value: this.phase }]);
  }

  protected get status(): WindowedStatus {
    const { message, next } = this.state?.paused ?? this.#heldFor ?? this.said ?? { message: null };
    return {
      phase: this.phase,
      pausedFor: (this.state ? this.state.paused : this.phase === 'paused' ? this.early : null)?.reason ?? null,
      message,
      next,
      startedAt: this.state?.startedAt ?? workflowInfo().startTime.getTime(),
    };
  }

  /** Why a job waits for `temporal activity unpause`. */
  get #heldFor(): Said<string> | null {
    if (this.#held.size === 0) return null;
    return {
      message:
        'an activity of the job is paused in Temporal; the job continues when it is unpaused (temporal activity unpause)',
    };
  }

  /** The name for `resume`. Null for a scheduled run, because the next run continues the job. */
  protected get resumable(): string | null {
    return this.isScheduled ? null : this.name;
  }

  /** Returns the pause for the failure of a piece; null if the failure ends the job. */
  protected pauseFor(error: unknown): Pause | null {
    return pauseOf(failureOf(error), this.resumable, null);
  }

  protected endingOf(error: unknown): Said<string> {
    return { message: messageOf(error) };
  }

  protected putBack(piece: number): void {
    this.queue.putBack(piece);
  }

  /** Starts work that a pause needs after calls in flight have landed; null if there is no such work. */
  protected whilePaused(): Promise<void> | null {
    return null;
  }

  /** Reports a state of the job that no activity knows. */
  protected report(state: Omit<RunState, 'since'>): Promise<void> {
    const { workflowId, firstExecutionRunId: run } = workflowInfo();
    const job = this.state ? this.name : workflowId;
    return reportState({
      ...{ job: jobOfWorkflow(job), kind: this.kind, run, scheduled: this.isScheduled },
      ...{ ...state, since: Date.now() },
    });
  }

  /** Waits until calls in flight have landed after a cancel. Returns the message of the cancelled job; null for the default message. */
  protected async afterCancel(): Promise<string | null> {
    await condition(() => this.running.size === 0);
    return null;
  }

  /**
   * Keeps a window of pieces in progress until none is left. Waits while the job is paused; continues as new when the history is long. If
   * the job stops early, returns the reason.
   */
  protected async runPieces(): Promise<Pause | null> {
    for (;;) {
      const seen = this.#changes;
      const { paused } = this.opened;
      const enough = workflowInfo().continueAsNewSuggested;
      const isHeld = this.#held.size > 0;
      this.phase = paused || isHeld ? 'paused' : 'running';
      this.show();
      if (!this.#fatal && !paused && !enough && !isHeld) this.#fillWindow();
      if (this.running.size === 0) {
        if (this.#fatal) throw this.#fatal;
        if (!paused && this.queue.size === 0) return null;
        if (!paused && enough) await this.#continue();
        const work = paused && this.whilePaused();
        if (work) {
          await work;
          continue;
        }
        if (paused && (this.isScheduled || this.isStopped)) return paused;
      }
      await condition(() => this.#changes !== seen);
    }
  }

  async #toEnd(): Promise<Summary> {
    try {
      return await this.work();
    } catch (error) {
      if (error instanceof ContinueAsNew) throw error;
      const isCancelled = isCancellation(error);
      if (isCancelled) searchflow.interrupt();
      const message = isCancelled ? await CancellationScope.nonCancellable(() => this.afterCancel()) : null;
      this.said = message === null ? this.endingOf(error) : { message };
      this.phase = isCancelled ? 'cancelled' : 'failed';
      this.show();
      if (!isCancelled) await this.report({ phase: 'failed', failure: failureOf(error).type });
      throw toWorkflowFailure(error, this.said);
    }
  }

  #fillWindow(): void {
    while (this.running.size < this.window) {
      const piece = this.queue.take();
      if (piece === undefined) return;
      void this.#runPiece(piece);
    }
  }

  async #runPiece(piece: number): Promise<void> {
    this.running.add(piece);
    const scope = new CancellationScope();
    this.#scopes.set(piece, scope);
    const { resumedAt } = this.opened;
    try {
      this.landed(piece, await scope.run(() => this.perform(piece)));
    } catch (error) {
      this.putBack(piece);
      if (!isCancellation(error) && !endedByCancel(error)) this.#failed(error, resumedAt);
    } finally {
      this.running.delete(piece);
      this.#scopes.delete(piece);
      this.#held.delete(piece);
      this.#changes++;
    }
  }

  /** Handles a failed piece. `resumedAt`: the last resume before the piece was started. */
  #failed(error: unknown, resumedAt: number): void {
    const pause = this.pauseFor(error);
    if (pause) {
      // A refusal from before the last resume does not count.
      if (resumedAt === this.opened.resumedAt) this.pause(pause);
    } else {
      this.#fatal ??= error;
      this.interrupt();
    }
  }

  async #continue(): Promise<never> {
    await condition(allHandlersFinished);
    return this.#again({ ...this.opened, queue: this.queue.ranges });
  }
}
