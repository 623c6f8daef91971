import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { ActivityFailure, executeChild, sleep } from '@temporalio/workflow';
import type { Activities } from '../../activities/index.js';
import { isPostgresUrl, parseAddress } from '../../core/connections/postgres-address.js';
import { type QuietInput, type QuietOutcome, quietProblem } from '../../core/monitors/quiet-input.js';
import { hash } from '../../core/text/hash.js';
import { canonicalJson } from '../../core/text/json.js';
import { staticSummary } from '../../core/text/static-summary.js';
import { toWorkflowFailure } from '../shared/failures.js';
import { bulkPolicy } from '../shared/policies.js';
import { childMemo, forFirst, publicInput } from '../shared/public-input.js';
import { summarizedActivities } from '../shared/summarized-activities.js';
import { setVersioning } from '../shared/versioning.js';

/**
 * A cancelled activity ends after its calls in flight have ended, so that a removal of the quiet hours can then unpause all paused
 * monitors.
 */
const { takeQuietTurn } = summarizedActivities<Activities, 'takeQuietTurn'>(
  { ...bulkPolicy, cancellationType: 'WAIT_CANCELLATION_COMPLETED' },
  { takeQuietTurn: 'pause or unpause monitors' },
);

/**
 * First interval in ms of attempts while another run is in progress, doubled up to `MOST_AGAIN_MS`. Only one run at a time is allowed for a
 * service and warehouse, even for different quiet hours.
 */
const AGAIN_MS = 2000;
const MOST_AGAIN_MS = 30_000;

/**
 * `quietMonitors`: pauses or unpauses monitors. The schedules of quiet hours start this workflow. The workflow decides by the clock, so
 * late and repeated starts have the same effect. See `QuietInput`.
 */
export async function quietMonitors(input: QuietInput, ...extra: []): Promise<QuietOutcome> {
  publicInput('quietMonitors', [input], { extra, also: quietProblem });
  const workflowId = runWorkflowId(input);
  for (let wait = AGAIN_MS; ; wait = Math.min(2 * wait, MOST_AGAIN_MS)) {
    try {
      return await executeChild<typeof quietTurn>('quietTurn', {
        workflowId,
        args: [input],
        ...staticSummary(`quiet hours ${input.name}`),
        memo: childMemo(),
      });
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      await sleep(wait);
    }
  }
}

setVersioning('stays', quietMonitors);

/** Returns the workflow id of the runs for a service and warehouse. The id contains no address, only a hash. */
function runWorkflowId({ origin = '', into }: QuietInput): string {
  const memory = isPostgresUrl(into) ? parseAddress(into, '').shown : into;
  return `searchflow-quiet-turn-${hash(canonicalJson([origin, memory])).toString(36)}`;
}

/** `quietTurn`: makes the changes of one run of quiet hours. Only one `quietTurn` runs at a time for a service and warehouse. */
export async function quietTurn(input: QuietInput, ...extra: []): Promise<QuietOutcome> {
  publicInput('quietTurn', [input], { extra, also: quietProblem });
  try {
    return await takeQuietTurn(forFirst({ ...input, now: input.now ?? Date.now() }));
  } catch (error) {
    throw error instanceof ActivityFailure ? toWorkflowFailure(error) : error;
  }
}

setVersioning('stays', quietTurn);
