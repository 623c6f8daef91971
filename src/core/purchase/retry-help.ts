import { FORGOTTEN } from './forgotten.js';
import { retriedTags } from './freshness.js';
import type { UnitStatus } from './journal.js';

/**
 * Whether another purchase of a failed row can help. `free`: the failure cost nothing, so a retry costs only what its answer costs. `charged`:
 * the failure was or may have been charged, so a retry may pay a second time. `none`: a retry has the same result.
 */
export const retryHelps = ['free', 'charged', 'none'] as const;

export interface RetryHelp {
  readonly retry: (typeof retryHelps)[number];
  /** The reason, as a sentence without its dot. */
  readonly why: string;
}

/** The facts of a failed row that decide whether a retry can help. */
export interface FailedFacts {
  /** `invalid`: a bad row, which was never sent. */
  readonly status: Exclude<UnitStatus, 'success'> | 'invalid';
  readonly tag: string | null;
  /** Number of rows that share a run; absent: 1. */
  readonly rowsPerRun?: number;
  /** What the failed requests for the unit cost, or may have cost, in micro-dollars; absent: not known, which counts as nothing. */
  readonly paidMicros?: number;
}

/** Tags of failures that may have been charged, with the reason. */
const charged: Readonly<Record<string, string>> = {
  UNKNOWN_OUTCOME: 'earlier requests got no answer and may have been charged',
  RESPONSE_SHAPE: 'the answer was paid for, but could not be parsed; --reparse parses it again and buys nothing',
  RUN_FAILED: 'the run failed at the service and may have been charged',
  RUN_CANCELLED: 'the run was cancelled and may have been charged',
  RUN_GONE: 'the run is no longer known at the service and may have been charged',
};

/** Tags of refused requests. A refusal is free. */
const refused: readonly string[] = ['INVALID_REQUEST', 'INVALID_REQUEST_BODY', 'INVALID_URLS', 'DEFAULT_ERROR'];

/** Returns whether a retry of a failed row can help. */
export function retryHelp({ status, tag, rowsPerRun = 1, paidMicros = 0 }: FailedFacts): RetryHelp {
  if (status === 'invalid') return { retry: 'none', why: 'the row was never sent; correct it in the input' };
  if (tag === FORGOTTEN) return { retry: 'none', why: 'its data was removed by forget' };
  if (tag === null || !retriedTags.includes(tag)) return { retry: 'none', why: 'the answer of the service is final' };
  if (tag === 'RUN_OVERDUE') return { retry: 'free', why: 'the same run is followed again; no run is bought' };
  if (tag === 'MISSING_FROM_RESPONSE' && rowsPerRun > 1)
    return {
      retry: 'none',
      why: 'the run of the row was answered without the row; --refresh-after buys the run again',
    };
  const why = charged[tag];
  if (why !== undefined) return { retry: 'charged', why };
  if (paidMicros > 0) return { retry: 'charged', why: 'earlier requests for the row were or may have been charged' };
  if (refused.includes(tag)) return { retry: 'free', why: 'a refused request costs nothing; correct its cause first' };
  return { retry: 'free', why: 'the failure cost nothing and may pass' };
}
