import { type FailureLimit, MOST_STOP_AFTER } from '../../core/rows/stop-at-failed.js';

/** The flags `--stop-at-failed` and `--stop-after`. */
export interface FailureLimitFlags {
  readonly stopAtFailed?: string;
  readonly stopAfter?: string;
}

/** Returns the limit of failed answers, or undefined without the flags; adds a sentence to `mistakes` for each invalid value. */
export function readFailureLimit(
  { stopAtFailed, stopAfter }: FailureLimitFlags,
  mistakes: string[],
): FailureLimit | undefined {
  if (stopAtFailed === undefined || stopAtFailed === 'none') {
    if (stopAfter !== undefined)
      mistakes.push('--stop-after needs a percentage of failed answers. Pass --stop-at-failed, such as 20%.');
    return stopAtFailed;
  }
  const percent = Number(/^(\d{1,3}(?:\.\d{1,6})?)%?$/.exec(stopAtFailed)?.[1]);
  const isShare = percent > 0 && percent <= 100;
  if (!isShare)
    mistakes.push(`--stop-at-failed: '${stopAtFailed}' must be a percentage above 0%, such as 20%, or none.`);
  const after = stopAfter === undefined || /^\d{1,10}$/.test(stopAfter) ? Number(stopAfter ?? 1) : 0;
  const isCount = after >= 1 && after <= MOST_STOP_AFTER;
  if (!isCount) mistakes.push(`--stop-after: '${stopAfter}' must be a whole number of rows, 1 or more.`);
  if (!isShare || !isCount) return undefined;
  return stopAfter === undefined ? { percent } : { percent, after };
}
