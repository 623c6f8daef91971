import { ApplicationFailure, patched, workflowInfo } from '@temporalio/workflow';
import type { First } from '../../activities/base/monitor-warehouses.js';
import { addressProblem } from '../../core/connections/postgres-address.js';
import { inputProblems } from '../../core/inputs/check-input.js';
import { startedByUs } from '../../core/rows/job.js';

/** Histories from before this check continue with wrong inputs. */
const PATCH = 'strict-inputs';

/**
 * Refuses wrong arguments of a workflow before anything else happens: fails with `BadInput`, one sentence a problem. Returns its input.
 * `carried`: the state from an earlier run of the same workflow, which checked the input; `extra`: arguments beyond the public and internal
 * ones; `also`: checks beyond types; `isFree`: the workflow buys and changes nothing, so that a memo is enough to accept its state.
 */
export function publicInput<I>(
  workflow: string,
  args: readonly [input: I, options?: unknown],
  {
    carried,
    extra = [],
    also,
    isFree = false,
  }: {
    readonly carried?: unknown;
    readonly isFree?: boolean;
    readonly extra?: readonly unknown[];
    readonly also?: (input: I) => string | null;
  } = {},
): I {
  const { continuedFromExecutionRunId } = workflowInfo();
  const input = (args[0] ?? {}) as I;
  const isPassed = (value: unknown) => value !== undefined && value !== null;
  const ours = isOurs();
  // Only the state of a run that continues another one is certainly ours: any client can start a workflow with our memo.
  if (isPassed(carried) && (continuedFromExecutionRunId !== undefined || (isFree && ours))) return input;
  // Other versions of this program may pass further arguments.
  const hasExtra = isPassed(carried) || (!ours && extra.some(isPassed));
  // Checked first and alone: messages about other fields may quote an address.
  const address = addressProblem(input);
  const problems =
    address !== null
      ? [`${address}.`]
      : hasExtra
        ? [`${workflow} takes ${args.length === 1 ? 'one argument' : 'two arguments'}; remove the others.`]
        : inputProblems(workflow, args, !ours);
  const one = problems.length === 0 && also ? also(input) : null;
  const all = one === null ? problems : [one];
  if (all.length > 0 && patched(PATCH)) {
    throw ApplicationFailure.nonRetryable(`Invalid input of ${workflow}. ${all.join(' ')}`, 'BadInput');
  }
  return input;
}

/** The input of the first activity, with the fact that a client started the workflow; see `onlyForServed`. */
export function forFirst<I extends object>(input: I): First<I> {
  // Commands name the service of their own worker, which may be restarted with another one meanwhile.
  return isOurs() || workflowInfo().memo?.startedBy === 'command' ? input : { ...input, startedBy: 'client' };
}

/** The memo of a child workflow: only children of our own workflows are ours. */
export const childMemo = (): typeof startedByUs | Record<string, never> => (isOurs() ? startedByUs : {});

/** Whether this workflow was started by one of ours or by a command's schedule, perhaps of another version. */
function isOurs(): boolean {
  const { memo, searchAttributes } = workflowInfo();
  const [schedule] = (searchAttributes.TemporalScheduledById ?? []) as readonly unknown[];
  return (
    memo?.startedBy === startedByUs.startedBy || (typeof schedule === 'string' && schedule.startsWith('searchflow-'))
  );
}
