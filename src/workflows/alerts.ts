import { CancellationScope, proxyActivities } from '@temporalio/workflow';
import type { AllActivities, NoteAlert } from '../activities/index.js';
import type { AlertDelivery } from '../core/alerts/alert.js';
import { publicInput } from './shared/public-input.js';
import { setVersioning } from './shared/versioning.js';

// The activity decides when its last attempt is, because attempts count only while a worker lives.
const { sendAlert } = proxyActivities<Pick<AllActivities, 'sendAlert'>>({
  startToCloseTimeout: '1 minute',
  heartbeatTimeout: '10s',
  retry: { initialInterval: '5s', backoffCoefficient: 2, maximumInterval: '30 minutes' },
});

/**
 * `deliverAlert`: delivers an alert to one receiver. Workers start this workflow, with an id made from the event, so that an event is one alert.
 * It fails if the receiver has not accepted the alert within a day; a reset sends the alert again.
 */
export async function deliverAlert(delivery: AlertDelivery, ...extra: []): Promise<void> {
  await sendAlert(publicInput('deliverAlert', [delivery], { extra }));
}

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

setVersioning('moves', deliverAlert);
