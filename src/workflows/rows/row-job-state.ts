import type { Spent } from '../../activities/rows/summarize.js';
import type { Freshness } from '../../core/purchase/freshness.js';
import {
  type EnrichCsvInput,
  type JobProgress,
  jobOfWorkflow,
  type MaxCost,
  type SliceInput,
  type StagedJob,
  wantedRows,
  wantedRowsOf,
  wantedSlices,
} from '../../core/rows/job.js';
import type { Pause } from '../../core/rows/pause.js';
import type { LoadedRows } from '../../core/rows/row-warehouse.js';
import { toMicros } from '../../core/text/money.js';
import type { Ranges } from './slice-set.js';

/** The state of a row job that is kept across continue-as-new. */
export interface RowJobState {
  readonly version: 1;
  readonly staged: StagedJob;
  readonly freshness: Freshness | null;
  readonly csv: string | null;
  readonly queue: Ranges;
  readonly paused: Pause | null;
  readonly startedAt: number;
  /** The warehouse held rows of the job when this run of it began. */
  readonly carried: boolean;
  /** The warehouse held answers when this run of the job began. */
  readonly adopts?: boolean;
  readonly resumedAt: number;
  /** Purchases for the job before this run of it. */
  readonly before: Spent;
  /** The cap of this run of the job; null or absent: none. */
  readonly maxCostMicros?: number | null;
  /** See `EnrichCsvInput.skipRefused`; absent: as in the input. */
  readonly skipRefused?: boolean;
  readonly requests: number;
  readonly failed: number;
  /** Loaded rows of slices that are not done, as last counted. Absent in the first version. */
  readonly partial?: LoadedRows['partial'];
  readonly costMicros: number;
  readonly unknownOutcomes: number;
}

/** The cap of a slice: the sum of the job's cost before this run and the cap of the run. */
export function capOf({
  staged,
  before,
  maxCostMicros = null,
}: RowJobState): Pick<SliceInput, 'cap' | 'spentBeforeMicros'> {
  const spentBeforeMicros = before.committedMicros ?? before.costMicros;
  if (maxCostMicros === null) return { spentBeforeMicros };
  return { spentBeforeMicros, cap: { bookPrefix: `${staged.job}/`, limitMicros: spentBeforeMicros + maxCostMicros } };
}

/**
 * The progress of a job. `running`: slices in progress, whose heartbeats count their rows; `queued`: other slices that are not done. Until the job is
 * opened, its name is its workflow's id.
 */
export function progressOf(
  input: EnrichCsvInput,
  state: RowJobState | null,
  { running, queued }: { readonly running: readonly number[]; readonly queued: readonly number[] },
  workflowId: string,
): Omit<JobProgress, 'phase' | 'message' | 'startedAt'> {
  const staged = state?.staged ?? null;
  const undone = [...running, ...queued];
  const wanted = (slice: number) => (staged ? wantedRowsOf(staged, slice) : 0);
  // Where the warehouse held rows (`carried`), slices ask it first, and their heartbeats leave out loaded rows.
  const idle = new Set(state?.carried ? undone : queued);
  const left = undone.reduce((sum, slice) => sum + wanted(slice), 0);
  const partial = (state?.partial ?? [])
    .filter(([slice]) => idle.has(slice))
    .reduce((sum, [slice, count]) => sum + Math.min(count, wanted(slice)), 0);
  // Until the job is opened, the count from the command is shown.
  const { rows: counted = 0, limit } = input.staged ?? {};
  const rows = wantedRows(staged ?? { rows: counted, ...(limit === undefined ? {} : { limit }) });
  const slices = staged ? wantedSlices(staged) : 0;
  return {
    pausedFor: state?.paused?.reason ?? null,
    job: staged?.job ?? input.staged?.job ?? jobOfWorkflow(workflowId),
    rows,
    rowsDone: staged ? rows - left + partial : 0,
    slices,
    slicesDone: staged ? slices - undone.length : 0,
    failed: state?.failed ?? 0,
    requests: state?.requests ?? 0,
    costMicros: state?.costMicros ?? 0,
    unknownOutcomes: state?.unknownOutcomes ?? 0,
  };
}

/** A cap of an input or signal in micro-dollars; null for none. */
export const boundOf = (dollars: MaxCost | undefined): number | null => toMicros(dollars);

/** Whether a value is `none` or an amount; anything else must not mean "no cap". */
export const isBound = (dollars: MaxCost | undefined): boolean =>
  dollars === undefined || dollars === 'none' || boundOf(dollars) !== null;
