import { proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { AllActivities } from '../../activities/index.js';
import type { RetryFreshness } from '../../core/purchase/freshness.js';
import type {
  EnrichCsvInput,
  JobProgress,
  JobSummary,
  PublishStep,
  Resumption,
  RunBounds,
  StopAtFailed,
} from '../../core/row-job-schemas.js';
import { boundsOf, type SliceResult } from '../../core/rows/job.js';
import { pieceId } from '../../core/rows/job-ids.js';
import {
  endingFor,
  type Failure,
  failedPause,
  nothingPause,
  type Pause,
  pauseOf,
  publishFailed,
  type Said,
  sentenceOf,
  spentOf,
  warningPause,
} from '../../core/rows/pause.js';
import { isLongRunning } from '../../core/rows/row-operation.js';
import {
  addCounts,
  failsTooOften,
  isFailureLimit,
  isSameLimit,
  limitInAnswers,
  noAnswers,
} from '../../core/rows/stop-at-failed.js';
import { addWarnings } from '../../core/rows/warnings.js';
import { toMicros } from '../../core/text/money.js';
import { failureOf, messageOf } from '../shared/failures.js';
import { bulkPolicy, slicePolicy } from '../shared/policies.js';
import { RangeQueue, toRanges } from '../shared/range-queue.js';
import { summarizedActivities } from '../shared/versioning.js';
import { WindowedJob } from '../shared/windowed-job.js';
import {
  capOf,
  earlierOf,
  isBound,
  jobDetails,
  planRowJob,
  progressOf,
  type RowJobState,
  type Settable,
} from './row-job-state.js';

export type { RowJobState } from './row-job-state.js';

const { jobSpent, endRuns, openRetry, finishJob, publishJob } = summarizedActivities(bulkPolicy, {
  openRetry: 'find failed rows to buy once more',
  jobSpent: 'add up the cost of the job',
  endRuns: 'end runs at the service',
  finishJob: 'sum up the rows and write the CSV',
  publishJob: 'publish the rows',
});

/** Runs a row job: stages the rows, buys and loads slices, and exports the result. For its states see `JobPhase`. */
export async function rowJob(
  input: EnrichCsvInput,
  carried: RowJobState | undefined,
  again: AnotherRun,
): Promise<JobSummary> {
  const job = new RowJob(input, carried, again);
  // A command that starts the job again sends this signal before it cancels the job. The job then leaves its runs at the service to its
  // next start.
  return job.run({ handOver: () => job.handOver(), proven: (since?: never) => job.proven(since) });
}

/** Continues the job in a new run of its workflow. */
export type AnotherRun = (input: EnrichCsvInput, state: RowJobState) => Promise<never>;

/** Time in ms that the runs of a cancelled job have to end. `END_RUNS_LEAST_MS`: the least time that these runs have. */
const END_RUNS_MS = 12_000;
const END_RUNS_LEAST_MS = 3000;

class RowJob extends WindowedJob<RowJobState, SliceResult, JobSummary> {
  protected readonly kind = 'rows';
  readonly #input: EnrichCsvInput;
  #pausedBy: { readonly failure: Failure; readonly pause: Pause | null } | null = null;
  /** Whether the cost was summed up in this pause. This happens when nothing is in flight. */
  #summedUp = false;
  /** Whether landed answers are being loaded and counted. */
  #isSummingUp = false;
  /** Slices that were interrupted after landed answers were last loaded. */
  readonly #broken = new Set<number>();
  #handedOver = false;
  /** Runs at the service that the cancel left running. */
  #runsLeft = 0;
  /** The settings of the run that `resume` can change. Used until the job is opened. */
  #asked: Settable;
  /** For slices in progress whose answers may pause the job: the last resume before their start. */
  readonly #resumedBefore = new Map<number, number>();

  constructor(input: EnrichCsvInput, carried: RowJobState | undefined, again: AnotherRun) {
    super({
      carried,
      scheduled: input.scheduled,
      again: (state) => again({ ...input, staged: state.staged }, state),
    });
    this.#input = input;
    this.#asked = { maxCostMicros: toMicros(input.maxCostDollars), stopAtFailed: input.stopAtFailed };
  }

  protected get name(): string {
    return this.opened.staged.job;
  }

  /** Until an answer is usable, one slice is in progress, so that several processes begin with the few requests of one. */
  protected get window(): number {
    return this.#isProven === false ? 1 : this.opened.staged.window;
  }

  /** See `SliceInput.isProven`. */
  get #isProven(): boolean | undefined {
    const { isShared, provenSince, resumedAt } = this.opened;
    return isShared ? provenSince === resumedAt : undefined;
  }

  /** Records that an answer since this start or resume of the job is usable. */
  proven(since?: number): void {
    if (this.state && since === this.state.resumedAt) this.update({ provenSince: since });
  }

  progress(): JobProgress {
    const undone = { running: [...this.running], queued: this.queue.numbers };
    const limit = limitInAnswers((this.state ?? this.#asked).stopAtFailed, this.state?.staged ?? this.#input);
    return {
      landing: (this.state?.paused && (!this.#summedUp || this.#isSummingUp)) || undefined,
      ...progressOf(this.#input, this.state, undone, workflowInfo().workflowId),
      ...this.status,
      maxCostMicros: (this.state ?? this.#asked).maxCostMicros,
      stopAtFailed: limit ?? undefined,
      runsLeft: this.#runsLeft || undefined,
    };
  }

  protected details(): string {
    return jobDetails(this.progress());
  }

  override resume(how?: Resumption): void {
    const { stopAtFailed, acceptWarnings } = how ?? {};
    // An invalid cap must not mean "no cap": the signal is ignored. The same holds for the limit of failed answers.
    if (this.isStopped || !isBound(how?.maxCostDollars)) return;
    if (stopAtFailed !== undefined && !isFailureLimit(stopAtFailed)) return;
    if (acceptWarnings !== undefined && !Array.isArray(acceptWarnings)) return;
    const before = this.state?.resumedAt;
    super.resume();
    this.#summedUp = false;
    const max = how?.maxCostDollars === undefined ? undefined : toMicros(how.maxCostDollars);
    const now = this.state ?? this.#asked;
    const changes = {
      maxCostMicros: max === undefined ? now.maxCostMicros : max,
      // Only `true` is a consent; any other value changes nothing.
      skipRefused: how?.skipRefused === true || now.skipRefused,
      redrive: how?.redrive === true || now.redrive,
      stopAtFailed: stopAtFailed ?? now.stopAtFailed,
      acceptWarnings: acceptWarnings ? [...(this.#bounds.acceptWarnings ?? []), ...acceptWarnings] : now.acceptWarnings,
    };
    if (!this.state) {
      this.#asked = { ...this.#asked, ...changes };
      return;
    }
    const isOtherLimit = stopAtFailed !== undefined && !isSameLimit(stopAtFailed, this.state.stopAtFailed);
    const isOther = (max !== undefined && max !== this.state.maxCostMicros) || isOtherLimit;
    this.set({ ...changes, resumedAt: isOther ? Date.now() : this.state.resumedAt });
    // The failures so far are accepted.
    if (this.state.answers && this.state.resumedAt !== before) this.set({ answers: noAnswers });
    // Slices in progress have the old cap or limit: they are interrupted and continue with the new one.
    if (isOther) this.interrupt();
  }

  /** What bounds the run: the input, with the changes by `resume`. */
  get #bounds(): RunBounds {
    return { ...boundsOf(this.#input), ...boundsOf(this.state ?? this.#asked) };
  }

  handOver(): void {
    this.#handedOver = true;
  }

  protected async work(): Promise<JobSummary> {
    if (!this.state) {
      const asked = () => ({ paused: this.early, ...this.#asked });
      this.state = await planRowJob(this.#input, asked, (work) => this.planWith(work));
      this.queue = new RangeQueue(this.state.queue);
    }
    const stopped = (await this.runPieces()) ?? (await this.#buyFailedOnceMore());
    this.phase = 'running';
    const { staged, csv, startedAt, before, freshness, retry, warnings } = this.opened;
    const retried = retry && { units: retry.units, failedAgain: retry.failedAgain };
    // A stopped run does not replace the CSV of the last complete run.
    const { publish } = this.#input;
    const summary = await finishJob({
      ...{ staged, csv: stopped ? null : csv, startedAt, before, stopped, freshness },
      ...{ retried, warnings, publishes: publish ? true : undefined },
      ...{ run: workflowInfo().firstExecutionRunId, scheduled: this.isScheduled },
    });
    const ended = publish && !stopped ? await this.#publish(publish, summary) : summary;
    this.phase = ended.phase;
    this.show();
    return ended;
  }

  /**
   * The second pass: buys failed rows that may pass once more. The rules of this pass apply until the run ends. Returns the reason if the run
   * stops early.
   */
  async #buyFailedOnceMore(): Promise<Pause | null> {
    if (this.opened.retry) return null;
    const { staged, freshness = {} } = this.opened;
    const pass = await openRetry({ staged, redrive: this.#bounds.redrive ?? false });
    if (pass === null) return null;
    const { slices, units, tags: retryTags, before: retryBefore, slicesPerPiece } = pass;
    const rules = { ...freshness, retryTags, retryBefore, onlyMarked: true } as const;
    this.set({ retry: { units, failedAgain: 0, freshness: rules, slicesPerPiece } });
    this.queue = new RangeQueue(toRanges(slices));
    return this.runPieces();
  }

  /** The rules for the answers that slices may use. */
  get #freshness(): RetryFreshness | undefined {
    return this.opened.retry?.freshness ?? this.opened.freshness;
  }

  /** Publishes the view of the job. If that fails, the run ends as stopped, because a person must fix the cause; the rows are loaded. */
  async #publish(step: PublishStep, summary: JobSummary): Promise<JobSummary> {
    this.said = { message: 'publishing its rows' };
    this.show();
    const run = workflowInfo().firstExecutionRunId;
    const { phase, requests, costMicros, seconds } = summary;
    const ended = { phase, requests, costMicros, seconds, scheduled: this.isScheduled };
    const published = await publishJob({ staged: this.opened.staged, step, run, ended });
    this.said = published.error === null ? null : publishFailed(published, this.resumable);
    const end = this.said === null ? {} : { phase: 'stopped' as const, message: sentenceOf(this.said) };
    return { ...summary, ...end, published };
  }

  protected override endingOf(error: unknown): Said<string> {
    return this.state ? endingFor(failureOf(error), this.resumable) : super.endingOf(error);
  }

  /** Ends runs at the service for rows of this job, after requests in flight have landed. */
  protected override async afterCancel(): Promise<string | null> {
    const cancelledAt = Date.now();
    this.said = { message: 'cancelled: paid requests in flight still land' };
    this.show();
    await super.afterCancel();
    if (!this.state || this.#handedOver || !isLongRunning(this.state.staged.operation)) return null;
    const { staged, resumedAt } = this.state;
    this.said = { message: 'cancelled: its runs at the service are being ended' };
    this.show();
    try {
      const { runs, left } = await endRuns({
        staged,
        slices: this.queue.ranges,
        resumedAt,
        freshness: this.#freshness,
        // The time since the cancel, in which requests in flight landed, is subtracted.
        withinMs: Math.max(END_RUNS_LEAST_MS, END_RUNS_MS - (Date.now() - cancelledAt)),
      });
      this.#runsLeft = left;
      const all = `cancelled, with ${runs} runs at the service`;
      return left === 0 ? all : `${all}; ${left} more did not end and are left running: see agent list`;
    } catch (error) {
      return `cancelled, but not all runs at the service could be ended (${messageOf(error)}): see agent list`;
    }
  }

  protected override whilePaused(): Promise<void> | null {
    return this.#summedUp ? null : this.#sumUp();
  }

  /** Updates costs from the journal, because slices that were refused or killed have not reported their costs. */
  async #sumUp(): Promise<void> {
    this.#summedUp = true;
    const { staged, before, paused, maxCostMicros } = this.opened;
    const freshness = this.#freshness;
    const slices = [...this.#broken];
    this.#broken.clear();
    this.#isSummingUp = true;
    const failure = this.#pausedBy?.pause === paused ? this.#pausedBy?.failure : null;
    const cause = failure ? { failure, before, resumable: this.resumable, maxCostMicros } : null;
    const now = await jobSpent({
      job: staged.job,
      startedAt: this.opened.startedAt,
      paused: paused && {
        ...{ staged, slices, freshness, why: paused, since: Date.now(), cause },
        ...{ run: workflowInfo().firstExecutionRunId, ends: this.isScheduled || this.isStopped },
      },
    }).finally(() => {
      this.#isSummingUp = false;
    });
    const spent = spentOf(staged.operation, before, now);
    const exact = failure && pauseOf(failure, this.resumable, maxCostMicros, spent);
    this.set({
      requests: now.requests - before.requests,
      costMicros: now.costMicros - before.costMicros,
      earlierMicros: earlierOf(before, now),
      unknownOutcomes: now.unknownOutcomes - before.unknownOutcomes,
      ...now.loaded,
      // The reason of the pause is updated only if the job was not resumed meanwhile.
      paused: exact && this.state?.paused === paused ? exact : this.opened.paused,
    });
  }

  /** Buys and loads one slice. */
  protected perform(slice: number): Promise<SliceResult> {
    const { staged, carried, adopts, resumedAt, startedAt, retry } = this.opened;
    // The cap is passed as `limitMicros`; the job itself publishes.
    const { maxCostDollars: _cap, publish: _publish, ...bounds } = this.#bounds;
    const limit = this.#failureLimit;
    this.#resumedBefore.set(slice, resumedAt);
    const { answered } = this.opened.answers ?? noAnswers;
    const to = Math.min(staged.slices, slice + (retry?.slicesPerPiece ?? 1));
    const which = to - slice === 1 ? `slice ${to}` : `slices ${slice + 1} to ${to}`;
    const summary = `${which} of ${staged.slices}`;
    const activityId = pieceId(slice);
    const { enrichSlice, retryRows } = proxyActivities<AllActivities>({ ...slicePolicy, activityId, summary });
    const input = {
      ...bounds,
      ...{ staged, slice, carried: carried || retry !== undefined, resumedAt, startedAt },
      // The rows of another job may have the failure that is bought once more.
      adopts: adopts && retry === undefined,
      freshness: this.#freshness,
      isProven: this.#isProven,
      limitMicros: capOf(this.opened),
      stopAtFailed: limit ? { ...limit, answered } : undefined,
    };
    return retry?.slicesPerPiece === undefined ? enrichSlice(input) : retryRows({ ...input, to });
  }

  protected landed(slice: number, result: SliceResult): void {
    const { requests, failed, costMicros, earlierMicros, unknownOutcomes, staged, retry } = this.opened;
    // In the second pass, each bought unit has failed before.
    const more = result.failed - (retry ? Math.max(result.bought, result.failed) : 0);
    this.set({
      requests: requests + result.requests,
      failed: Math.max(0, failed + more),
      retry: retry && { ...retry, failedAgain: retry.failedAgain + result.failed },
      costMicros: costMicros + result.costMicros,
      earlierMicros: earlierMicros + result.earlierMicros,
      unknownOutcomes: unknownOutcomes + result.unknownOutcomes,
    });
    const { resumedAt } = this.opened;
    const isCurrent = this.#resumedBefore.get(slice) === resumedAt;
    // A person decides, even if nothing is left to buy.
    if (isCurrent && result.nothing) {
      const pause = nothingPause(result.nothing, this.resumable);
      // Only the slice that got the last of the answers knows its row.
      if (this.opened.paused?.reason === 'service' && result.nothing.row !== null) this.set({ paused: pause });
      else this.pause(pause);
    }
    if (result.warnings) this.set({ warnings: addWarnings(this.opened.warnings ?? [], result.warnings) });
    if (isCurrent && result.stoppedBy) this.pause(warningPause(result.stoppedBy, this.resumable));
    this.#judgeFailures(slice, result);
    if (result.complete) return;
    const { paused } = this.opened;
    // A slice with a run of an hour must not delay the start of other slices. So such a slice continues after all other slices have
    // started.
    if (isLongRunning(staged.operation) && !paused) {
      this.#broken.add(slice);
      this.queue.putLast(slice);
    } else this.putBack(slice);
  }

  /** The limit of failed answers; null: none. In the second pass, nothing new can fail. */
  get #failureLimit(): Required<StopAtFailed> | null {
    if (this.opened.retry) return null;
    return limitInAnswers(this.opened.stopAtFailed, this.opened.staged);
  }

  /** Counts the answers of a slice. Pauses the job if too many failed, in the slice's process or in all processes. */
  #judgeFailures(slice: number, { answers, tooManyFailed, complete }: SliceResult): void {
    const limit = this.#failureLimit;
    const { resumedAt, paused, answers: before = noAnswers } = this.opened;
    // Failures from before the last resume are accepted.
    if (!limit || !answers || this.#resumedBefore.get(slice) !== resumedAt) return;
    const all = addCounts(before, answers);
    this.set({ answers: all });
    const isLast = complete && this.queue.size === 0 && this.running.size === 1;
    // Nothing is left to buy, so the job ends.
    if (isLast && paused?.reason === 'failed') this.set({ paused: null });
    const counts = tooManyFailed && tooManyFailed.answered > all.answered ? tooManyFailed : all;
    if (isLast || !(tooManyFailed || failsTooOften(all, limit))) return;
    const pause = failedPause(counts, limit, this.resumable);
    // Requests in flight land after the pause, so the last slice has the final counts.
    if (paused?.reason === 'failed') this.set({ paused: pause });
    else this.pause(pause);
  }

  protected override putBack(slice: number): void {
    this.#broken.add(slice);
    super.putBack(slice);
  }

  protected override pauseFor(error: unknown): Pause | null {
    const failure = failureOf(error);
    const pause = pauseOf(failure, this.resumable, this.opened.maxCostMicros);
    if (!this.opened.paused) this.#pausedBy = { failure, pause };
    return pause;
  }
}
