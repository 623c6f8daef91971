import {
  ActivityFailure,
  ApplicationFailure,
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
import type { Activities } from '../activities/index.js';
import type { Spent } from '../activities/job.js';
import {
  type EnrichCsvInput,
  type JobPhase,
  type JobProgress,
  type JobSummary,
  type PauseReason,
  queryNames,
  type StagedJob,
  signalNames,
} from '../core/job.js';
import type { Freshness } from '../core/journal.js';
import { bulkPolicy, slicePolicy } from './policies.js';
import { type Ranges, SliceQueue, toRanges } from './slice-set.js';

/** Everything of a row job that outlives a continue-as-new. */
export interface RowJobState {
  readonly version: 1;
  readonly staged: StagedJob;
  readonly freshness: Freshness | null;
  readonly csv: string | null;
  readonly queue: Ranges;
  readonly paused: { readonly reason: PauseReason; readonly message: string } | null;
  readonly startedAt: number;
  /** The warehouse held rows of the job when this run of it began. */
  readonly carried: boolean;
  readonly resumedAt: number;
  /** What had been bought for the job before this run of it. */
  readonly before: Spent;
  readonly requests: number;
  readonly failed: number;
  readonly costMicros: number;
  readonly unknownOutcomes: number;
}

export const pauseSignal = defineSignal(signalNames.pause);
export const resumeSignal = defineSignal(signalNames.resume);
export const progressQuery = defineQuery<JobProgress>(queryNames.progress);

/** Failures that a person can mend while the job waits, and why it then waits. */
const pauseReasons: Readonly<Record<string, PauseReason>> = {
  Unauthorized: 'key',
  ApiKeyMissing: 'key',
  PaymentRequired: 'credits',
  RateLimited: 'rate',
};

const { enrichSlice } = proxyActivities<Activities>(slicePolicy);
const { stageInput, openJob, finishJob } = proxyActivities<Activities>(bulkPolicy);

/** Runs a row job: stage, slices, load, export. One state machine, see {@link JobPhase}. */
export async function rowJob(
  input: EnrichCsvInput,
  carried: RowJobState | undefined,
  again: AnotherRun,
): Promise<JobSummary> {
  // With its state in hand, because a signal may be waiting for its handler.
  const job = new RowJob(input, carried, again);
  setHandler(progressQuery, () => job.progress());
  setHandler(pauseSignal, () => job.pause('person', 'paused by a person'));
  setHandler(resumeSignal, () => job.resume());
  return job.toEnd();
}

/** Continues the job in a new run of its workflow. */
export type AnotherRun = (input: EnrichCsvInput, state: RowJobState) => Promise<never>;

class RowJob {
  readonly #input: EnrichCsvInput;
  readonly #again: AnotherRun;
  #phase: JobPhase = 'planning';
  #state: RowJobState | null;
  #queue = new SliceQueue([]);
  readonly #running = new Set<number>();
  #scope = new CancellationScope();
  #fatal: unknown = null;
  #message: string | null = null;
  /** A pause that came before the plan was made. */
  #early: RowJobState['paused'] = null;
  #changes = 0;

  constructor(input: EnrichCsvInput, carried: RowJobState | undefined, again: AnotherRun) {
    this.#input = input;
    this.#state = carried ?? null;
    this.#again = again;
  }

  progress(): JobProgress {
    const state = this.#state;
    const staged = state?.staged ?? this.#input.staged ?? null;
    const undone = [...this.#running, ...numbersIn(this.#queue.ranges)].reduce(
      (sum, slice) => sum + rowsIn(staged, slice),
      0,
    );
    return {
      phase: this.#phase,
      pausedFor: state?.paused?.reason ?? null,
      message: state?.paused?.message ?? this.#message,
      job: staged?.job ?? this.#input.job ?? '',
      rows: staged?.rows ?? 0,
      rowsDone: state && staged ? staged.rows - undone : 0,
      slices: staged?.slices ?? 0,
      slicesDone: state && staged ? staged.slices - this.#queue.size - this.#running.size : 0,
      failed: state?.failed ?? 0,
      requests: state?.requests ?? 0,
      costMicros: state?.costMicros ?? 0,
      unknownOutcomes: state?.unknownOutcomes ?? 0,
      startedAt: state?.startedAt ?? workflowInfo().startTime.getTime(),
    };
  }

  pause(reason: PauseReason, message: string): void {
    this.#changes++;
    if (!this.#state) this.#early ??= { reason, message };
    else if (!this.#state.paused) {
      this.#set({ paused: { reason, message } });
      // Paid calls in flight land; the rest of each slice goes back into the queue.
      this.#scope.cancel();
    }
  }

  resume(): void {
    this.#changes++;
    this.#early = null;
    if (this.#state?.paused) this.#set({ paused: null, resumedAt: Date.now() });
  }

  async toEnd(): Promise<JobSummary> {
    try {
      this.#state ??= await this.#plan();
      this.#queue = new SliceQueue(this.#state.queue);
      await this.#runSlices();
      this.#phase = 'running';
      const { staged, csv, startedAt, before } = this.#state;
      const summary = await finishJob({ staged, csv, startedAt, before });
      this.#phase = 'done';
      this.#show();
      return summary;
    } catch (error) {
      this.#phase = isCancellation(error) ? 'cancelled' : 'failed';
      this.#message = messageOf(error);
      this.#show();
      throw error instanceof ActivityFailure ? toWorkflowFailure(error) : error;
    }
  }

  async #plan(): Promise<RowJobState> {
    const { staged, freshness } = this.#input.staged
      ? { staged: this.#input.staged, freshness: this.#input.freshness }
      : await stageInput(this.#input);
    const { slices, before, carried } = await openJob(freshness ? { staged, freshness } : { staged });
    return {
      version: 1,
      staged,
      freshness: freshness ?? null,
      csv: this.#input.csv ?? null,
      queue: toRanges(slices),
      paused: this.#early,
      startedAt: workflowInfo().startTime.getTime(),
      resumedAt: Date.now(),
      before,
      carried,
      requests: 0,
      failed: 0,
      costMicros: 0,
      unknownOutcomes: 0,
    };
  }

  /** Keeps a window of slices in flight until none is left; waits where paused; moves to a new run when the history is long. */
  async #runSlices(): Promise<void> {
    for (;;) {
      const seen = this.#changes;
      const state = this.#state as RowJobState;
      const enough = workflowInfo().continueAsNewSuggested;
      this.#phase = state.paused ? 'paused' : 'running';
      this.#show();
      if (this.#fatal) {
        if (this.#running.size === 0) throw this.#fatal;
      } else if (!state.paused && !enough) {
        while (this.#running.size < state.staged.window) {
          const slice = this.#queue.take();
          if (slice === undefined) break;
          void this.#runSlice(slice);
        }
      }
      if (this.#running.size === 0 && !state.paused) {
        if (this.#queue.size === 0) return;
        if (enough) await this.#continue();
      }
      try {
        await condition(() => this.#changes !== seen);
      } catch (error) {
        // Cancelled: what is in flight lands first.
        await CancellationScope.nonCancellable(() => condition(() => this.#running.size === 0));
        throw error;
      }
    }
  }

  async #continue(): Promise<void> {
    await condition(allHandlersFinished);
    const state = this.#state as RowJobState;
    await this.#again({ ...this.#input, staged: state.staged }, { ...state, queue: this.#queue.ranges });
  }

  async #runSlice(slice: number): Promise<void> {
    this.#running.add(slice);
    if (this.#scope.consideredCancelled) this.#scope = new CancellationScope();
    const state = this.#state as RowJobState;
    try {
      const result = await this.#scope.run(() =>
        enrichSlice({
          staged: state.staged,
          slice,
          carried: state.carried,
          resumedAt: state.resumedAt,
          ...(state.freshness ? { freshness: state.freshness } : {}),
        }),
      );
      const now = this.#state as RowJobState;
      this.#set({
        requests: now.requests + result.requests,
        failed: now.failed + result.failed,
        costMicros: now.costMicros + result.costMicros,
        unknownOutcomes: now.unknownOutcomes + result.unknownOutcomes,
      });
      if (!result.complete) this.#queue.putBack(slice);
    } catch (error) {
      this.#queue.putBack(slice);
      if (!isCancellation(error) && !endedByCancel(error)) this.#failed(error, state.resumedAt);
    } finally {
      this.#running.delete(slice);
      this.#changes++;
    }
  }

  /** `resumedAt` is what the slice was started with. */
  #failed(error: unknown, resumedAt: number): void {
    const reason = pauseReasons[typeOf(error)];
    if (reason) {
      // A refusal from before the last resume has been answered by that resume.
      if (resumedAt === this.#state?.resumedAt) this.pause(reason, messageOf(error));
    } else {
      this.#fatal ??= error;
      this.#scope.cancel();
    }
  }

  #set(changes: Partial<RowJobState>): void {
    this.#state = { ...(this.#state as RowJobState), ...changes };
  }

  /** Live details in Temporal's web UI. */
  #show(): void {
    const { job, phase, pausedFor, message, rows, rowsDone, costMicros, slices, slicesDone, unknownOutcomes } =
      this.progress();
    setCurrentDetails(
      [
        `**${job}**: ${phase}${pausedFor ? ` (${pausedFor})` : ''}`,
        `${rowsDone} of ${rows} rows, ${slicesDone} of ${slices} slices, $${(costMicros / 1e6).toFixed(2)} in this run`,
        ...(unknownOutcomes > 0 ? [`${unknownOutcomes} unknown outcomes`] : []),
        ...(message ? [message] : []),
      ].join('\n\n'),
    );
  }
}

function rowsIn(staged: StagedJob | null, slice: number): number {
  if (!staged) return 0;
  return slice < staged.slices - 1 ? staged.rowsPerSlice : staged.rows - staged.rowsPerSlice * (staged.slices - 1);
}

function* numbersIn(ranges: Ranges): Iterable<number> {
  for (const [from, to] of ranges) for (let number = from; number <= to; number++) yield number;
}

function typeOf(error: unknown): string {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  return cause instanceof ApplicationFailure ? (cause.type ?? '') : '';
}

/** The activity would have been tried again, had it not been cancelled meanwhile: nothing is wrong with it. */
function endedByCancel(error: unknown): boolean {
  return error instanceof ActivityFailure && error.retryState === 'CANCEL_REQUESTED';
}

function messageOf(error: unknown): string {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
}

/** The workflow fails with the activity's own type and sentence, not with "Activity task failed". */
function toWorkflowFailure(error: ActivityFailure): Error {
  const { cause } = error;
  if (!(cause instanceof ApplicationFailure)) return error;
  return ApplicationFailure.nonRetryable(cause.message, cause.type, ...(cause.details ?? []));
}
