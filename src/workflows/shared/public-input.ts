import { ApplicationFailure, patched, workflowInfo } from '@temporalio/workflow';
import { startedByUs } from '../../core/rows/job.js';
import { inputProblems } from '../../core/text/check-input.js';
import { addressProblem } from '../../core/text/postgres-address.js';

/** Whose histories of before this check had wrong inputs go on with them. */
const PATCH = 'strict-inputs';

/**
 * Refuses wrong arguments of a workflow, before anything else of it happens: fails with `BadInput`, a sentence for each
 * problem. Answers with its input. `carried`: what an earlier run of the same workflow hands on, which was checked there; `also`: what
 * the types alone do not tell.
 */
export function publicInput<I>(
  workflow: string,
  args: readonly [input: I, options?: unknown],
  { carried, also }: { readonly carried?: unknown; readonly also?: (input: I) => string | null } = {},
): I {
  const { continuedFromExecutionRunId } = workflowInfo();
  const input = (args[0] ?? {}) as I;
  const isGiven = carried !== undefined && carried !== null;
  if (isGiven && (continuedFromExecutionRunId !== undefined || isOurs())) return input;
  // First and alone: what is said of other fields may quote them.
  const address = addressProblem(input);
  const problems =
    address !== null
      ? [`${address}.`]
      : isGiven
        ? [`${workflow} takes one argument; the second is its own, for continuing as new.`]
        : inputProblems(workflow, args, !isOurs());
  const one = problems.length === 0 && also ? also(input) : null;
  const all = one === null ? problems : [one];
  if (all.length > 0 && patched(PATCH)) {
    throw ApplicationFailure.nonRetryable(
      `${workflow} was given a wrong input. ${all.join(' ')}`,
      'BadInput',
    );
  }
  return input;
}

/** Whether it was started by another workflow of ours or by a schedule of the command, maybe of another version. */
function isOurs(): boolean {
  const { memo, searchAttributes } = workflowInfo();
  const [schedule] = (searchAttributes.TemporalScheduledById ?? []) as readonly unknown[];
  return (
    memo?.startedBy === startedByUs.startedBy || (typeof schedule === 'string' && schedule.startsWith('searchflow-'))
  );
}
