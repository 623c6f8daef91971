import { CancellationScope, proxyActivities } from '@temporalio/workflow';
import type { NoteAlert } from '../../activities/base/alerts.js';
import type { AllActivities } from '../../activities/index.js';

const { noteAlert } = proxyActivities<Pick<AllActivities, 'noteAlert'>>({
  summary: 'report the state of the run',
  startToCloseTimeout: '1 minute',
  // An alert must not keep a run from ending.
  scheduleToCloseTimeout: '5 minutes',
  retry: { initialInterval: '1s', maximumInterval: '30s', nonRetryableErrorTypes: ['NotFoundError'] },
});

/** Reports the state of a run that no other activity knows. Never fails. */
export async function reportState(state: NoteAlert): Promise<void> {
  await CancellationScope.nonCancellable(() => noteAlert(state)).catch(() => undefined);
}
