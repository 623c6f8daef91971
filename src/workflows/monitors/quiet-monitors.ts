import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  ActivityFailure,
  CancellationScope,
  executeChild,
  getExternalWorkflowHandle,
  patched,
  proxyActivities,
  sleep,
} from '@temporalio/workflow';
import type { Activities } from '../../activities/index.js';
import { type QuietInput, type QuietOutcome, quietProblem } from '../../core/monitors/quiet-input.js';
import { signalNames, startedByUs } from '../../core/rows/job.js';
import { hash } from '../../core/text/hash.js';
import { canonicalJson } from '../../core/text/json.js';
import { isPostgresUrl, parseAddress } from '../../core/text/postgres-address.js';
import { toWorkflowFailure } from '../shared/failures.js';
import { bulkPolicy } from '../shared/policies.js';
import { publicInput } from '../shared/public-input.js';

/** One that is cancelled is over when nothing of it is on its way any more: whoever removes the hours puts back what it did. */
const { takeQuietTurn } = proxyActivities<Activities>({
  ...bulkPolicy,
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
});

/** One turn at a time: neither the schedules of the same hours nor those of others with the same memory must meet. */
const AGAIN_MS = 2000;
const MOST_AGAIN_MS = 30_000;

/**
 * `quietMonitors`: what the schedules of quiet hours start. It decides by the clock what is to be done, so it does the right thing
 * whichever schedule started it, late or twice. See `QuietInput`.
 */
export async function quietMonitors(input: QuietInput): Promise<QuietOutcome> {
  publicInput('quietMonitors', [input], { also: quietProblem });
  const workflowId = await turnId(input);
  for (let wait = AGAIN_MS; ; wait = Math.min(2 * wait, MOST_AGAIN_MS)) {
    try {
      return await executeChild<typeof quietTurn>('quietTurn', {
        workflowId,
        args: [input],
        memo: startedByUs,
      });
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      await sleep(wait);
    }
  }
}

/**
 * Id of the turns of a memory. It was once made of the address itself: a turn that still runs under such an id is ended first, since it
 * would pause what this one puts back.
 */
async function turnId({ origin = '', into }: QuietInput): Promise<string> {
  const oldId = (address: string) => `searchflow-quiet-turn-${origin}-${address}`;
  if (!patched('quiet-turn-hash')) return oldId(into);
  const memory = isPostgresUrl(into) ? parseAddress(into, '').shown : into;
  for (const address of new Set([into, memory])) await end(oldId(address));
  return `searchflow-quiet-turn-${hash(canonicalJson([origin, memory])).toString(36)}`;
}

/** Cancels a workflow and waits until it is over; does nothing where none runs. */
async function end(workflowId: string): Promise<void> {
  const turn = getExternalWorkflowHandle(workflowId);
  for (;;) {
    try {
      // A cancel is answered in the same way by one that is over; a signal is not.
      await turn.signal(signalNames.stop);
      await turn.cancel();
    } catch (error) {
      // This workflow was cancelled itself; else there is nobody to be cancelled.
      if (CancellationScope.current().consideredCancelled) throw error;
      return;
    }
    await sleep(AGAIN_MS);
  }
}

/** `quietTurn`: one turn of quiet hours, the only one of its memory at its time. */
export async function quietTurn(input: QuietInput): Promise<QuietOutcome> {
  publicInput('quietTurn', [input], { also: quietProblem });
  try {
    return await takeQuietTurn({ ...input, now: input.now ?? Date.now() });
  } catch (error) {
    throw error instanceof ActivityFailure ? toWorkflowFailure(error) : error;
  }
}
