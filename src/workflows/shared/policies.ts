import type { ActivityOptions } from '@temporalio/workflow';

/**
 * How activities are retried. No policy sets `maximumAttempts`: waits count as attempts, and a job that waits for a limit or an outage
 * must not run out of them. Failures that no retry helps are not retryable by their type.
 */
const patient = { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' } as const;

/** A slice ends itself after a minute; a killed worker is detected by its heartbeat. */
export const slicePolicy: ActivityOptions = {
  startToCloseTimeout: '30 minutes',
  heartbeatTimeout: '10s',
  retry: patient,
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
};

/** Staging, reconciling and exporting take longer for larger files. */
export const bulkPolicy: ActivityOptions = {
  startToCloseTimeout: '6 hours',
  heartbeatTimeout: '30s',
  retry: patient,
};
