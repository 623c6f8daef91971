import { ApplicationFailure, patched, workflowInfo } from '@temporalio/workflow';
import type { First } from '../../activities/base/monitor-warehouses.js';
import type { InputSchema } from '../../core/check-names.js';
import { Check, whyTooLarge } from '../../core/check-value.js';
import { addressProblem } from '../../core/connections/postgres-address.js';
import { inputSchemas } from '../../core/input-schemas.js';
import { startedByUs, workflowNames } from '../../core/rows/job-names.js';

/** The id of the patch. A workflow that was started before a check of a later version existed continues with its input. */
const PATCH = 'strict-inputs';

/**
 * Checks the arguments of a workflow before anything else happens; returns the input. Fails with `BadInput`, one sentence for each problem.
 * `carried`: the state from an earlier run of the same workflow, which checked the input. `extra`: arguments beyond the public and internal
 * ones. `also`: checks beyond types. `isFree`: the workflow buys and changes nothing, so a memo is enough to accept its state.
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
  // Any client can start a workflow with our memo. Only the state of a run that continues another run is certainly ours.
  if (isPassed(carried) && (continuedFromExecutionRunId !== undefined || (isFree && mayWait()))) return input;
  // Other versions of this program may pass further arguments.
  const hasExtra = isPassed(carried) || (!ours && extra.some(isPassed));
  // This check is the first and its problem is reported alone, because messages about other fields may quote an address.
  const address = addressProblem(input);
  const problems =
    address !== null
      ? [`${address}.`]
      : hasExtra
        ? [`${workflow} takes ${args.length === 1 ? 'one argument' : 'two arguments'}; remove the others.`]
        : inputProblems(workflow, args, !ours);
  const one = problems.length === 0 && also ? also(input) : null;
  const all = one === null ? problems : [one];
  if (all.length > 0 && patched(PATCH))
    throw ApplicationFailure.nonRetryable(`Invalid input of ${workflow}. ${all.join(' ')}`, 'BadInput');
  return input;
}

/** Largest input of a workflow, in KB. Temporal takes at most 2 MB, with the state of the workflow. */
const MOST_INPUT_KB = 1024;

/**
 * Returns the problems of a workflow's arguments, one sentence for each field. `strict`: unknown fields are problems, too; inputs from
 * other versions of this program may have unknown fields. Misspelt names and values of requests are left to the first activity, which knows
 * whether its worker sends them unchecked. Pure.
 */
export function inputProblems(workflow: string, args: readonly unknown[], strict: boolean): readonly string[] {
  const large = whyTooLarge(args, MOST_INPUT_KB);
  if (large !== null) return [`${workflow}: the input ${large}.`];
  const schemas: readonly InputSchema[] = JSON.parse(inputSchemas[workflow] ?? '[]');
  const check = new Check(workflow, strict);
  schemas.forEach((schema, index) => {
    const others = index === 0 ? Object.keys(schemas[1]?.properties ?? {}) : [];
    check.value(args[index] ?? {}, schema, index === 0 ? '' : 'options', others);
  });
  if (check.more > 0) check.problems.push(`There are ${check.more} more problems.`);
  return check.problems;
}

/** Returns the input of the first activity. If a client started the workflow, the input says so; see `onlyForServed`. */
export function forFirst<I extends object>(input: I): First<I> {
  return mayWait() ? input : { ...input, startedBy: 'client' };
}

/** Returns the memo of a child workflow. A child counts as ours only if its parent is ours. */
export const childMemo = (): typeof startedByUs | Record<string, never> => (mayWait() ? startedByUs : {});

/**
 * Whether this workflow may wait for a worker of its service: a command, its schedule or a workflow of ours names the service of its own
 * worker. Meanwhile that worker may have been restarted with another service. A client that imitates one of these only makes its own
 * workflow wait.
 */
function mayWait(): boolean {
  const { memo } = workflowInfo();
  return isScheduled() || memo?.startedBy === startedByUs.startedBy || memo?.startedBy === 'command';
}

/**
 * Whether a schedule of the command or a workflow of ours started this workflow. The starter may be of another version, whose fields are
 * unknown here. Any client can set the memo, but no client can set the parent.
 */
function isOurs(): boolean {
  const { memo, parent } = workflowInfo();
  return isScheduled() || (memo?.startedBy === startedByUs.startedBy && parent !== undefined);
}

/**
 * Whether a schedule of the command started this workflow. A schedule of another program may also have a name that begins with
 * `searchflow-`, but starts other workflows.
 */
function isScheduled(): boolean {
  const { searchAttributes, workflowType } = workflowInfo();
  const [schedule] = (searchAttributes.TemporalScheduledById ?? []) as readonly unknown[];
  const isOfCommand = workflowType === workflowNames.scheduledJob;
  return isOfCommand && typeof schedule === 'string' && schedule.startsWith('searchflow-');
}
