import { condition, defineQuery, setHandler } from '@temporalio/workflow';
import { queryNames } from '../core/rows/job-names.js';
import type { WorkerHolder } from '../core/workflow-result-schemas.js';
import { publicInput } from './shared/public-input.js';
import { setVersioning } from './shared/versioning.js';

const holderQuery = defineQuery<WorkerHolder>(queryNames.holder);

/**
 * `workerPresence`: runs on a task queue while workers of one store poll it, and names a worker. Only a live worker answers the query of
 * this workflow, so another worker can find out whether the queue is in use. Workers end this workflow; it does not end by itself.
 */
export async function workerPresence(holder: WorkerHolder, ...extra: []): Promise<void> {
  publicInput('workerPresence', [holder], { extra });
  setHandler(holderQuery, () => holder);
  await condition(() => false);
}

setVersioning('moves', workerPresence);
