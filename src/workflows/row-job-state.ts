import type { Spent } from '../activities/job.js';
import type { MaxCost, SliceInput, StagedJob } from '../core/job.js';
import type { Freshness } from '../core/journal.js';
import { toMicros } from '../core/money.js';
import type { Pause } from '../core/pause.js';
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
export function capOf({ staged, before, maxCostMicros = null }: RowJobState): Pick<SliceInput, 'cap'> {
  if (maxCostMicros === null) return {};
  const limitMicros = (before.committedMicros ?? before.costMicros) + maxCostMicros;
  return { cap: { bookPrefix: `${staged.job}/`, limitMicros } };
}

/** Rows of a slice of the job. */
export function rowsIn(staged: StagedJob | null, slice: number): number {
  if (!staged) return 0;
  return slice < staged.slices - 1 ? staged.rowsPerSlice : staged.rows - staged.rowsPerSlice * (staged.slices - 1);
}

/** A bound as inputs and signals give it, in micro-dollars; null for none. */
export const boundOf = (dollars: MaxCost | undefined): number | null => toMicros(dollars);

/** Whether it is none or an amount; what is neither must not be taken for none. */
export const isBound = (dollars: MaxCost | undefined): boolean =>
  dollars === undefined || dollars === 'none' || boundOf(dollars) !== null;
