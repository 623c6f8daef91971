import type { Spent } from '../../activities/rows/job.js';
import type { Freshness } from '../../core/purchase/journal.js';
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
import { toMicros } from '../../core/text/money.js';
import type { Ranges } from './slice-set.js';

/** Everything of a row job that outlives a continue-as-new. */
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
  /** What had been bought for the job before this run of it. */
  readonly before: Spent;
  /** What this run of the job may cost; null or absent: no bound. */
  readonly maxCostMicros?: number | null;
  readonly requests: number;
  readonly failed: number;
  readonly costMicros: number;
  readonly unknownOutcomes: number;
}

/** What a slice may cost: what the job had cost when this run of it began, and what the run may cost. */
export function capOf({
  staged,
  before,
  maxCostMicros = null,
}: RowJobState): Pick<SliceInput, 'cap' | 'spentBeforeMicros'> {
  const spentBeforeMicros = before.committedMicros ?? before.costMicros;
  if (maxCostMicros === null) return { spentBeforeMicros };
  return { spentBeforeMicros, cap: { bookPrefix: `${staged.job}/`, limitMicros: spentBeforeMicros + maxCostMicros } };
}

/** How far a job is; `undone`: slices that are not loaded. Until its rows are opened it is called by its workflow's id. */
export function progressOf(
  input: EnrichCsvInput,
  state: RowJobState | null,
  undone: readonly number[],
  workflowId: string,
): Omit<JobProgress, 'phase' | 'message' | 'startedAt'> {
  const staged = state?.staged ?? null;
  const left = undone.reduce((sum, slice) => sum + (staged ? wantedRowsOf(staged, slice) : 0), 0);
  // Until then a command's own count is shown.
  const { rows: counted = 0, limit } = input.staged ?? {};
  const rows = wantedRows(staged ?? { rows: counted, ...(limit === undefined ? {} : { limit }) });
  const slices = staged ? wantedSlices(staged) : 0;
  return {
    pausedFor: state?.paused?.reason ?? null,
    job: staged?.job ?? input.staged?.job ?? jobOfWorkflow(workflowId),
    rows,
    rowsDone: staged ? rows - left : 0,
    slices,
    slicesDone: staged ? slices - undone.length : 0,
    failed: state?.failed ?? 0,
    requests: state?.requests ?? 0,
    costMicros: state?.costMicros ?? 0,
    unknownOutcomes: state?.unknownOutcomes ?? 0,
  };
}

/** A bound as inputs and signals give it, in micro-dollars; null for none. */
export const boundOf = (dollars: MaxCost | undefined): number | null => toMicros(dollars);

/** Whether it is none or an amount; what is neither must not be taken for none. */
export const isBound = (dollars: MaxCost | undefined): boolean =>
  dollars === undefined || dollars === 'none' || boundOf(dollars) !== null;
