import type { ActivityOptions } from '@temporalio/workflow';

/**
 * How activities are retried. No policy sets `maximumAttempts`: waits count as attempts, and a job that waits for a limit or an outage must
 * not run out of attempts. Failures that no retry helps are thrown as non-retryable.
 */
const patient = { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' } as const;

/** A slice ends itself after a minute. Missing heartbeats show that a worker was killed. */
export const slicePolicy: ActivityOptions = {
  startToCloseTimeout: '30 minutes',
  heartbeatTimeout: '10s',
  retry: patient,
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
};

/** The policy of one free call that a person waits for: answers of another server end it within 20 seconds. */
export const lonePolicy: ActivityOptions = { ...slicePolicy, retry: { ...patient, maximumInterval: '2s' } };

/** The policy of staging, reconciling and exporting, which take longer for larger files. */
export const bulkPolicy: ActivityOptions = {
  startToCloseTimeout: '6 hours',
  heartbeatTimeout: '30s',
  retry: patient,
};

/**
 * The policy of a call: an attempt sends one request, whose answer takes at most two minutes. Missing heartbeats show that a worker was killed.
 */
export const callPolicy: ActivityOptions = {
  ...slicePolicy,
  startToCloseTimeout: '3 minutes',
  heartbeatTimeout: '15 seconds',
};
