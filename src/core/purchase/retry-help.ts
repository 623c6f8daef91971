import { leftOut, ruleOf } from './failure-tags.js';
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

export interface FailedFacts {
  /** `invalid`: a bad row, which was never sent. */
  readonly status: Exclude<UnitStatus, 'success'> | 'invalid';
  readonly tag: string | null;
  /** Number of rows that share a run; absent: 1. */
  readonly rowsPerRun?: number;
  /** What the failed requests for the unit cost, or may have cost, in micro-dollars; absent: not known, which counts as nothing. */
  readonly paidMicros?: number;
}

export function retryHelp({ status, tag, rowsPerRun = 1, paidMicros = 0 }: FailedFacts): RetryHelp {
  if (status === 'invalid') return { retry: 'none', why: 'the row was never sent; correct it in the input' };
  const { again, charged, why } = ruleOf(tag);
  if (again === undefined) return { retry: 'none', why };
  if (tag === leftOut.tag && rowsPerRun > 1)
    return {
      retry: 'none',
      why: 'the run of the row was answered without the row; --refresh-after buys the run again',
    };
  if (charged === 'maybe') return { retry: 'charged', why };
  if (charged !== 'never' && paidMicros > 0)
    return { retry: 'charged', why: 'earlier requests for the row were or may have been charged' };
  return { retry: 'free', why };
}
