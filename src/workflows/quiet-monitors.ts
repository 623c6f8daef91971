import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { ActivityFailure, executeChild, proxyActivities, sleep } from '@temporalio/workflow';
import type { Activities } from '../activities/index.js';
import { startedByUs } from '../core/job.js';
import { type QuietInput, type QuietOutcome, quietProblem } from '../core/quiet-input.js';
import { toWorkflowFailure } from './failures.js';
import { bulkPolicy } from './policies.js';
import { publicInput } from './public-input.js';

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
  const { origin = '', into } = input;
  for (let wait = AGAIN_MS; ; wait = Math.min(2 * wait, MOST_AGAIN_MS)) {
    try {
      return await executeChild<typeof quietTurn>('quietTurn', {
        workflowId: `searchflow-quiet-turn-${origin}-${into}`,
        args: [input],
        memo: startedByUs,
      });
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      await sleep(wait);
    }
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
