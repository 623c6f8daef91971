import { upsertMemo, workflowInfo } from '@temporalio/workflow';
import type { AllActivities } from '../../activities/index.js';
import type { OpenedJob } from '../../activities/rows/job.js';
import type { Spent } from '../../activities/rows/summarize.js';
import type { RetryFreshness } from '../../core/purchase/freshness.js';
import type {
  EnrichCsvInput,
  Freshness,
  JobProgress,
  MaxCost,
  Resumption,
  RetryCounts,
  ServiceWarning,
} from '../../core/row-job-schemas.js';
import { boundTexts, costText, type SliceResult, wantedRows, wantedRowsOf, wantedSlices } from '../../core/rows/job.js';
import { jobOfWorkflow } from '../../core/rows/job-ids.js';
import type { LoadedRows } from '../../core/rows/row-warehouse.js';
import { toMicros } from '../../core/text/money.js';
import { detailsText } from '../shared/failures.js';
import { bulkPolicy } from '../shared/policies.js';
import { forFirst } from '../shared/public-input.js';
import { toRanges } from '../shared/range-queue.js';
import { summarizedActivities } from '../shared/versioning.js';
import type { WindowedState, WindowedStatus } from '../shared/windowed-job.js';

/** The second pass of a run. */
interface RetryState extends RetryCounts {
  /** Replaces the rules of the first pass. */
  readonly freshness: RetryFreshness;
  /** See `OpenedRetry.slicesPerPiece`. */
  readonly slicesPerPiece?: number;
}

/**
 * The state of a row job that is kept across continue-as-new. Bounds that `resume` has not changed are those of the input. `answers`: those of
 * landed slices since `resumedAt`.
 */
export interface RowJobState
  extends WindowedState,
    Omit<Resumption, 'maxCostDollars'>,
    Omit<OpenedJob, 'slices' | 'loaded'>,
    Pick<SliceResult, 'requests' | 'failed' | 'costMicros' | 'earlierMicros' | 'unknownOutcomes' | 'answers'> {
  readonly version: 1;
  /** Absent: an answer never expires. */
  readonly freshness?: Freshness;
  /** The start or resume since which an answer is usable. */
  readonly provenSince?: number;
  /** The cap of this run of the job; null: none. */
  readonly maxCostMicros: number | null;
  /** The second pass: the failed rows that the run buys once more before its end. Absent: the run is in its first pass. */
  readonly retry?: RetryState;
  /** Warnings and notices of the service in this run of the job. Absent: none. */
  readonly warnings?: readonly ServiceWarning[];
  /** Loaded rows of slices that are not done, from the last count. */
  readonly partial: LoadedRows['partial'];
}

/** The part that `resume` can change. */
export type Settable = Pick<RowJobState, 'maxCostMicros' | Exclude<keyof Resumption, 'maxCostDollars'>>;

/** Returns the cap of a slice: the job's cost before this run plus the cap of this run. */
export const capOf = ({ before, maxCostMicros }: Pick<RowJobState, 'before' | 'maxCostMicros'>): number | undefined =>
  maxCostMicros === null ? undefined : before.committedMicros + maxCostMicros;

/**
 * Returns the progress of a job. `running`: slices in progress, whose rows are counted from their heartbeats. `queued`: the other slices
 * that are not done. Until the job is opened, the name of the job comes from the input or from the id of the workflow.
 */
export function progressOf(
  input: EnrichCsvInput,
  state: RowJobState | null,
  { running, queued }: { readonly running: readonly number[]; readonly queued: readonly number[] },
  workflowId: string,
): Omit<JobProgress, keyof WindowedStatus> {
  const staged = state?.staged ?? null;
  const undone = [...running, ...queued];
  const wanted = (slice: number) => (staged ? wantedRowsOf(staged, slice) : 0);
  // If the warehouse already had rows (`carried`), a slice first reads which rows it lacks, and its heartbeats do not count loaded rows. So
  // loaded rows of running slices are counted here.
  const idle = new Set(state?.carried ? undone : queued);
  const left = undone.reduce((sum, slice) => sum + wanted(slice), 0);
  const partial = (state?.partial ?? [])
    .filter(([slice]) => idle.has(slice))
    .reduce((sum, [slice, count]) => sum + Math.min(count, wanted(slice)), 0);
  // Until the job is opened, the number of rows comes from the command.
  const { rows: counted = 0, limit } = input.staged ?? {};
  const rows = wantedRows(staged ?? { rows: counted, limit });
  const slices = staged ? wantedSlices(staged) : 0;
  // In the second pass all rows are loaded, and some are loaded again.
  const isSecond = state?.retry !== undefined;
  return {
    cap: state?.paused?.cap,
    job: staged?.job ?? input.staged?.job ?? jobOfWorkflow(workflowId),
    rows,
    rowsDone: isSecond ? rows : staged ? rows - left + partial : 0,
    slices,
    slicesDone: isSecond ? slices : staged ? slices - undone.length : 0,
    failed: state?.failed ?? 0,
    retrying: undone.length > 0 ? state?.retry?.units : undefined,
    requests: state?.requests ?? 0,
    costMicros: state?.costMicros ?? 0,
    earlierMicros: state?.earlierMicros ?? 0,
    unknownOutcomes: state?.unknownOutcomes ?? 0,
  };
}

/** Returns the cost of the runs at the service that were started before the run of the job and have ended since. */
export function earlierOf(before: Spent, now: Spent): number {
  const ended = before.openMicros - (now.openMicros - now.openSinceMicros);
  return Math.max(0, Math.min(now.costMicros - before.costMicros, ended));
}

/** Returns the state of a job for Temporal's web UI (Markdown). */
export function jobDetails(progress: JobProgress): string {
  const { job, rows, rowsDone, slices, slicesDone, retrying = 0, unknownOutcomes } = progress;
  return detailsText(`**${job}**`, progress, [
    `${rowsDone} of ${rows} rows, ${slicesDone} of ${slices} slices, ${costText(progress, 'of at most')} in this run`,
    ...boundTexts(progress),
    ...(retrying > 0 ? [`${retrying} failed units are bought once more`] : []),
    ...(unknownOutcomes > 0 ? [`${unknownOutcomes} unknown outcomes`] : []),
  ]);
}

/** Whether a value is `none` or an amount of dollars. Any other value must not mean "no cap". */
export const isBound = (dollars: MaxCost | undefined): boolean =>
  dollars === undefined || dollars === 'none' || toMicros(dollars) !== null;

const { stageInput, openJob } = summarizedActivities(bulkPolicy, {
  stageInput: 'read and check the input',
  openJob: 'compare the rows with the warehouse',
});

/**
 * Stages the rows if they are not staged, and opens the job in its warehouse. `asked`: returns the effect of the signals so far. `planWith`:
 * does work that a pause interrupts.
 */
export async function planRowJob(
  input: EnrichCsvInput,
  asked: () => Settable & Pick<RowJobState, 'paused'>,
  planWith: <T>(work: () => Promise<T>) => Promise<T>,
): Promise<RowJobState> {
  const { staged, freshness } = input.staged
    ? { staged: input.staged, freshness: input.freshness ?? undefined }
    : await planWith(() => stageRows(input));
  const { csv = null, publish } = input;
  const { slices, loaded, ...opened } = await openJob({ staged, csv, freshness, publish });
  return {
    version: 1,
    ...opened,
    freshness,
    queue: toRanges(slices),
    startedAt: workflowInfo().startTime.getTime(),
    resumedAt: Date.now(),
    ...asked(),
    requests: 0,
    failed: loaded?.failed ?? 0,
    partial: loaded?.partial ?? [],
    costMicros: 0,
    earlierMicros: 0,
    unknownOutcomes: 0,
  };
}

async function stageRows(input: EnrichCsvInput): ReturnType<AllActivities['stageInput']> {
  // The memo of a scheduled run names its schedule.
  const { schedule } = workflowInfo().memo ?? {};
  const isNamed = input.scheduled === true && typeof schedule === 'string';
  const found = await stageInput({ ...forFirst(input), schedule: isNamed ? schedule : undefined });
  // A command that stages the rows writes the same memo. A later command compares the memo with its own rows.
  const { generation, host, limit } = found.staged;
  upsertMemo({ generation, host: host ?? null, limit: limit ?? null });
  return found;
}
