import { condition, defineQuery, setHandler } from '@temporalio/workflow';
import { queryNames } from '../core/rows/job.js';
import type { WorkerHolder } from '../core/text/presence.js';
import { publicInput } from './shared/public-input.js';

const holderQuery = defineQuery<WorkerHolder>(queryNames.holder);

/**
 * `workerPresence`: stands on a task queue while workers of one store work there, and says who that is. Its query is answered by a
 * living worker alone, so another one that asks knows whether it may take the queue. Ended from outside.
 */
export async function workerPresence(holder: WorkerHolder): Promise<void> {
  publicInput('workerPresence', [holder]);
  setHandler(holderQuery, () => holder);
  await condition(() => false);
}
