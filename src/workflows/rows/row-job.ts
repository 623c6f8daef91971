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
import type { Activities } from '../../activities/index.js';
import {
  type EnrichCsvInput,
  type JobPhase,
  type JobProgress,
  type JobSummary,
  queryNames,
  type Resumption,
} from '../../core/rows/job.js';
import { endingText, type Failure, type Pause, pauseOf } from '../../core/rows/pause.js';
import { canBeEnded, isLongRunning } from '../../core/rows/row-operation.js';
import { detailsText } from '../shared/details-text.js';
import { endedByCancel, failureOf, messageOf, toWorkflowFailure } from '../shared/failures.js';
import { handleSignals } from '../shared/handle-signals.js';
import { bulkPolicy, slicePolicy } from '../shared/policies.js';
import { planRowJob } from './row-job-plan.js';
import { boundOf, capOf, isBound, progressOf, type RowJobState } from './row-job-state.js';
import { SliceQueue } from './slice-set.js';

export type { RowJobState } from './row-job-state.js';
export const progressQuery = defineQuery<JobProgress>(queryNames.progress);

const { enrichSlice } = proxyActivities<Activities>(slicePolicy);
const { jobSpent, endRuns, finishJob } = proxyActivities<Activities>(bulkPolicy);

/** Runs a row job: stages the rows, buys and loads slices, and exports the result. For its states see {@link JobPhase}. */
export async function rowJob(
  input: EnrichCsvInput,
  carried: RowJobState | undefined,
  again: AnotherRun,
): Promise<JobSummary> {
  // The job must exist before the handlers are set, because a signal may already be waiting.
  const job = new RowJob(input, carried, again);
  setHandler(progressQuery, () => job.progress());
  handleSignals({
    pause: () => job.pause({ reason: 'person', message: 'paused by a person' }),
    resume: (how?: Resumption) => job.resume(how),
    // Ends the job as `stopped` after paid calls in flight have landed. The argument is the reason in a few words.
    stop: (why?: string) => job.stop(why),
    // A command that starts the job again sends this signal before it cancels the job. The job then leaves its runs at the service to its
    // next start.
    handOver: () => job.handOver(),
  });
  return job.toEnd();
}

/** Continues the job in a new run of its workflow. */
export type AnotherRun = (input: EnrichCsvInput, state: RowJobState) => Promise<never>;

/** Time in ms that the runs of a cancelled job have to end. `END_RUNS_LEAST_MS`: the least time that these runs have. */
const END_RUNS_MS = 12_000;
const END_RUNS_LEAST_MS = 3000;

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
  /** A pause that was requested before the plan was made. */
  #early: RowJobState['paused'] = null;
  #changes = 0;
  /** The failure that paused the job. */
  #pausedBy: Failure | null = null;
  /** Whether the cost was summed up in this pause. This happens when nothing is in flight. */
  #summedUp = false;
  /** Whether landed answers are being loaded and counted. */
  #isSummingUp = false;
  /** Slices that were interrupted after landed answers were last loaded. */
  readonly #broken = new Set<number>();
  #handedOver = false;
  #isStopped = false;
  /** The cap of the run. Used until the state has one. */
  #maxCost: number | null;
  /** Whether refused rows are recorded as failed even if the service refuses all rows. */
  #skipsRefused: boolean;

  constructor(input: EnrichCsvInput, carried: RowJobState | undefined, again: AnotherRun) {
    this.#input = input;
    this.#maxCost = boundOf(input.maxCostDollars);
    this.#skipsRefused = input.skipRefused ?? false;
    this.#state = carried ?? null;
    this.#again = again;
  }

  progress(): JobProgress {
    return {
      phase: this.#phase,
      ...(this.#state?.paused && (!this.#summedUp || this.#isSummingUp) ? { landing: true } : {}),
      ...progressOf(this.#input, this.#state, this.#undone, workflowInfo().workflowId),
      message: this.#state?.paused?.message ?? this.#message,
      maxCostMicros: this.#state ? (this.#state.maxCostMicros ?? null) : this.#maxCost,
      startedAt: this.#state?.startedAt ?? workflowInfo().startTime.getTime(),
    };
  }

  get #undone() {
    return { running: [...this.#running], queued: this.#queue.numbers };
  }

  pause(paused: Pause): void {
    this.#changes++;
    if (!this.#state) this.#early ??= paused;
    else if (!this.#state.paused) {
      this.#set({ paused });
      // Paid calls in flight land. The rest of each slice returns to the queue.
      this.#scope.cancel();
    }
  }

  stop(message = 'stopped by a person'): void {
    const paused: Pause = { reason: 'person', message };
    this.#isStopped = true;
    this.#pausedBy = null;
    this.#early = paused;
    this.pause(paused);
    // A job that was already paused stops for this reason instead of its earlier one.
    if (this.#state) this.#set({ paused });
  }

  resume(how?: Resumption): void {
    if (this.#isStopped) return;
    // An invalid cap must not mean "no cap": the signal is ignored.
    if (!isBound(how?.maxCostDollars)) return;
    this.#changes++;
    this.#early = null;
    // Only `true` is a consent; any other value changes nothing.
    const skips = how?.skipRefused === true;
    const max = how?.maxCostDollars === undefined ? undefined : boundOf(how.maxCostDollars);
    if (!this.#state) {
      if (max !== undefined) this.#maxCost = max;
      if (skips) this.#skipsRefused = true;
      return;
    }
    const other = max !== undefined && max !== (this.#state.maxCostMicros ?? null);
    if (!this.#state.paused && !other) {
      if (skips) this.#set({ skipRefused: true });
      return;
    }
    this.#pausedBy = null;
    this.#summedUp = false;
    this.#set({
      paused: null,
      resumedAt: Date.now(),
      ...(other ? { maxCostMicros: max } : {}),
      ...(skips ? { skipRefused: true } : {}),
    });
    // Slices in progress have the old cap: they are interrupted and continue with the new one.
    if (other) this.#scope.cancel();
  }

  handOver(): void {
    this.#handedOver = true;
  }

  async toEnd(): Promise<JobSummary> {
    try {
      this.#state ??= await planRowJob(this.#input, () => ({ paused: this.#early, maxCostMicros: this.#maxCost }));
      this.#queue = new SliceQueue(this.#state.queue);
      const stopped = await this.#runSlices();
      this.#phase = 'running';
      const { staged, csv, startedAt, before, freshness, failedNow = 0 } = this.#state;
      // A stopped run does not replace the CSV of the last complete run.
      const summary = await finishJob({
        ...{
          staged,
          csv: stopped ? null : csv,
          startedAt,
          before,
          failedNow,
          stopped,
          ...(freshness ? { freshness } : {}),
        },
        ...{ run: workflowInfo().firstExecutionRunId, scheduled: this.#input.scheduled ?? false },
      });
      this.#phase = stopped ? 'stopped' : 'done';
      this.#show();
      return summary;
    } catch (error) {
      this.#message = this.#endingText(error);
      if (isCancellation(error)) await CancellationScope.nonCancellable(() => this.#endRuns());
      this.#phase = isCancellation(error) ? 'cancelled' : 'failed';
      this.#show();
      throw error instanceof ActivityFailure ? toWorkflowFailure(error, this.#message) : error;
    }
  }

  #endingText(error: unknown): string {
    return this.#state ? endingText(failureOf(error), this.#resumable) : messageOf(error);
  }

  /** The name for `resume`. Null for a scheduled run, because the next run continues the job. */
  get #resumable(): string | null {
    return this.#input.scheduled ? null : (this.#state as RowJobState).staged.job;
  }

  /**
   * Keeps a window of slices in progress until none is left. Waits while the job is paused; continues as new when the history is long. If
   * the job stops early, returns the reason.
   */
  async #runSlices(): Promise<Pause | null> {
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
      if (this.#running.size === 0 && state.paused && !this.#summedUp) {
        await this.#sumUp();
        continue;
      }
      if (this.#running.size === 0 && state.paused && (this.#input.scheduled || this.#isStopped)) return state.paused;
      if (this.#running.size === 0 && !state.paused) {
        if (this.#queue.size === 0) return null;
        if (enough) await this.#continue();
      }
      await condition(() => this.#changes !== seen);
    }
  }

  /** Ends runs at the service for rows of this job, after requests in flight have landed. */
  async #endRuns(): Promise<void> {
    const cancelledAt = Date.now();
    await condition(() => this.#running.size === 0);
    const state = this.#state;
    if (!state || this.#handedOver || !canBeEnded(state.staged.operation)) return;
    const { staged, resumedAt, freshness } = state;
    this.#message = 'cancelled: its runs at the service are being ended';
    this.#show();
    try {
      const { runs, left = 0 } = await endRuns({
        staged,
        slices: this.#queue.ranges,
        resumedAt,
        ...(freshness ? { freshness } : {}),
        // The time since the cancel, in which requests in flight landed, is subtracted.
        withinMs: Math.max(END_RUNS_LEAST_MS, END_RUNS_MS - (Date.now() - cancelledAt)),
      });
      this.#message =
        left === 0
          ? `cancelled, with ${runs} runs at the service`
          : `cancelled, with ${runs} runs at the service; ${left} more did not end and are left running: see agent list`;
    } catch (error) {
      this.#message = `cancelled, but not all runs at the service could be ended (${messageOf(error)}): see agent list`;
    }
  }

  /** Updates costs from the journal, because slices that were refused or killed have not reported their costs. */
  async #sumUp(): Promise<void> {
    this.#summedUp = true;
    const { staged, before, paused, freshness, maxCostMicros = null } = this.#state as RowJobState;
    const slices = [...this.#broken];
    this.#broken.clear();
    this.#isSummingUp = true;
    const now = await jobSpent({
      job: staged.job,
      ...(paused
        ? { paused: { staged, slices, ...(freshness ? { freshness } : {}), why: paused, since: Date.now() } }
        : {}),
    }).finally(() => {
      this.#isSummingUp = false;
    });
    const spent = (now.committedMicros ?? now.costMicros) - (before.committedMicros ?? before.costMicros);
    const exact = this.#pausedBy && pauseOf(this.#pausedBy, this.#resumable, maxCostMicros, spent);
    this.#set({
      requests: now.requests - before.requests,
      costMicros: now.costMicros - before.costMicros,
      unknownOutcomes: (now.unknownOutcomes ?? 0) - (before.unknownOutcomes ?? 0),
      ...now.loaded,
      // The reason of the pause is updated only if the job was not resumed meanwhile.
      ...(exact && this.#state?.paused === paused ? { paused: exact } : {}),
    });
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
          ...(state.adopts ? { adopts: true } : {}),
          resumedAt: state.resumedAt,
          ...(state.freshness ? { freshness: state.freshness } : {}),
          ...((state.skipRefused ?? this.#skipsRefused) ? { skipRefused: true } : {}),
          ...capOf(state),
          ...(this.#input.maxRunSeconds === undefined ? {} : { maxRunMs: this.#input.maxRunSeconds * 1000 }),
        }),
      );
      const now = this.#state as RowJobState;
      this.#set({
        requests: now.requests + result.requests,
        failed: now.failed + result.failed,
        failedNow: (now.failedNow ?? 0) + result.failed,
        costMicros: now.costMicros + result.costMicros,
        unknownOutcomes: now.unknownOutcomes + result.unknownOutcomes,
      });
      // A slice with a run of an hour must not delay the start of other slices. So such a slice continues after all other slices have
      // started.
      if (!result.complete) this.#broken.add(slice);
      if (!result.complete && isLongRunning(state.staged.operation) && !now.paused) this.#queue.putLast(slice);
      else if (!result.complete) this.#queue.putBack(slice);
    } catch (error) {
      this.#broken.add(slice);
      this.#queue.putBack(slice);
      if (!isCancellation(error) && !endedByCancel(error)) this.#failed(error, state.resumedAt);
    } finally {
      this.#running.delete(slice);
      this.#changes++;
    }
  }

  /** Handles a failed slice. `resumedAt`: the last resume before the slice was started. */
  #failed(error: unknown, resumedAt: number): void {
    const { resumedAt: resumed, maxCostMicros = null } = this.#state as RowJobState;
    const failure = failureOf(error);
    const pause = pauseOf(failure, this.#resumable, maxCostMicros);
    if (pause) {
      // A refusal from before the last resume does not count.
      if (resumedAt !== resumed) return;
      if (!this.#state?.paused) this.#pausedBy = failure;
      this.pause(pause);
    } else {
      this.#fatal ??= error;
      this.#scope.cancel();
    }
  }

  #set(changes: Partial<RowJobState>): void {
    this.#state = { ...(this.#state as RowJobState), ...changes };
  }

  #show(): void {
    setCurrentDetails(detailsText(this.progress()));
  }
}
