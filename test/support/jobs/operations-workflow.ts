import { proxyActivities } from '@temporalio/workflow';
import type { AllActivities } from '../../../src/activities/index.js';

const { getContents, search } = proxyActivities<AllActivities>({
  startToCloseTimeout: '1 minute',
  heartbeatTimeout: '10s',
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
});

/** One call of one activity, as a user's own workflow makes it. */
export async function contentsOnce(...args: Parameters<AllActivities['getContents']>): Promise<unknown> {
  return getContents(...args);
}

export async function searchOnce(...args: Parameters<AllActivities['search']>): Promise<unknown> {
  return search(...args);
}
