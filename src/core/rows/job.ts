import { runBoundNames } from '../check-names.js';
import type { StagedJob } from '../job-entry-schemas.js';
import type { RetryFreshness } from '../purchase/freshness.js';
import type { JobProgress, RunBounds, ServiceWarning, SliceHeartbeat, StopAtFailed } from '../row-job-schemas.js';
import { dollars } from '../text/money.js';
import { type AnswerCounts, limitText, type RowsOfNothing } from './stop-at-failed.js';

type Slices = Pick<StagedJob, 'rows' | 'limit' | 'slices' | 'rowsPerSlice'>;

export const wantedRows = ({ rows, limit = rows }: Pick<StagedJob, 'rows' | 'limit'>): number => Math.min(rows, limit);

/** The number of slices with rows to buy. The last of these slices may also have rows after the limit. */
export const wantedSlices = (staged: Slices): number =>
  staged.limit === undefined ? staged.slices : Math.ceil(wantedRows(staged) / staged.rowsPerSlice);

export function wantedRowsOf(staged: Slices, slice: number): number {
  const end = slice < staged.slices - 1 ? (slice + 1) * staged.rowsPerSlice : staged.rows;
  return Math.max(0, Math.min(end, wantedRows(staged)) - slice * staged.rowsPerSlice);
}

/** The fields that bound a run and are set. */
export const boundsOf = (request: RunBounds): RunBounds =>
  Object.fromEntries(
    runBoundNames.map((name) => [name, request[name]]).filter(([, value]) => value != null && value !== false),
  );

/** Input of the activity that buys and loads one slice, with what bounds its run. */
export interface SliceInput extends Omit<RunBounds, 'maxCostDollars' | 'stopAtFailed' | 'publish'> {
  readonly staged: StagedJob;
  readonly slice: number;
  readonly freshness?: RetryFreshness;
  /** Whether the warehouse may hold some of the slice's rows already. */
  readonly carried: boolean;
  /** Whether the warehouse may hold answers that the journal lacks. */
  readonly adopts: boolean;
  /** Time of the start or last resume of the job, in Unix ms. Refusals of the account (401, 402) before this time do not count. */
  readonly resumedAt: number;
  /** Start of the run of the job, in Unix ms. */
  readonly startedAt: number;
  /** The cap of the run, with the cost of the job's earlier runs, in micro-dollars. Absent: no cap. */
  readonly limitMicros?: number;
  /** The limit of failed answers, in answers, with the number of answers since `resumedAt`. Absent: no limit. */
  readonly stopAtFailed?: Required<StopAtFailed> & Pick<AnswerCounts, 'answered'>;
  /**
   * For a job that several processes may run: whether an answer since `resumedAt` is usable. Until then, one slice is in progress, and it
   * sends the signal `proven`. Absent: all slices run in one process.
   */
  readonly isProven?: boolean;
}

/** Input of the activity that buys failed rows once more: the units whose first failed row is in the slices `slice` … `to - 1`. */
export interface RetryRowsInput extends SliceInput {
  readonly to: number;
}

/** Input of the activity that ends the runs at the service for slices of a cancelled job. */
export interface EndRunsInput extends Pick<SliceInput, 'staged' | 'freshness' | 'resumedAt'> {
  readonly slices: readonly (readonly [from: number, to: number])[];
  /** Time in ms after which runs that are still in progress are left running. */
  readonly withinMs: number;
}

export interface SliceResult {
  /** False: the time was up, and the next attempt does the rest of the slice. */
  readonly complete: boolean;
  readonly rows: number;
  readonly requests: number;
  readonly bought: number;
  /** Units bought in this attempt that ended in an error. */
  readonly failed: number;
  readonly costMicros: number;
  /** The part of `costMicros` that counted under the caps of earlier runs of the job. */
  readonly earlierMicros: number;
  readonly unknownOutcomes: number;
  /** For a job with a limit of failed answers: the answers of this attempt. */
  readonly answers?: AnswerCounts;
  /** The answers of the job in the worker's process, if the slice stopped because too many of them failed. */
  readonly tooManyFailed?: AnswerCounts;
  /** The answers with nothing usable that stopped the slice. */
  readonly nothing?: RowsOfNothing;
  /** Warnings and notices of the service in the answers of this attempt, each code and path once. */
  readonly warnings?: readonly ServiceWarning[];
  /** Warnings in the first answers that stopped the slice. */
  readonly stoppedBy?: readonly ServiceWarning[];
}

/** Returns the heartbeat of a slice that has bought nothing yet. */
export const newHeartbeat = (slice: number): SliceHeartbeat => ({
  slice,
  units: 0,
  landed: 0,
  failed: 0,
  costMicros: 0,
  earlierMicros: 0,
  waitingFor: null,
});

/** The bounds of a run in sentences, for its status and for Temporal's web UI. */
export const boundTexts = ({ phase, stopAtFailed }: Pick<JobProgress, 'phase' | 'stopAtFailed'>): readonly string[] =>
  stopAtFailed === undefined || phase === 'paused' ? [] : [`Pauses if ${limitText(stopAtFailed)}.`];

/**
 * Formats the cost of a run of a job with its cap; null: no cap. The cap does not limit `earlierMicros`, the part of the cost for runs at the
 * service that an earlier run of the job started.
 */
export function costText(
  { costMicros, earlierMicros = 0, maxCostMicros = null }: Pick<JobProgress, 'costMicros'> & Partial<JobProgress>,
  of = 'of',
): string {
  if (maxCostMicros === null) return dollars(costMicros);
  const earlier = earlierMicros === 0 ? '' : ` plus ${dollars(earlierMicros)} for runs started earlier`;
  return `${dollars(costMicros - earlierMicros)} ${of} ${dollars(maxCostMicros)}${earlier}`;
}
