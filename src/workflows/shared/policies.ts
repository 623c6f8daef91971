import {
  type ActivityFunction,
  type ActivityInterfaceFor,
  type ActivityOptions,
  proxyActivities,
  setWorkflowOptions,
  workflowInfo,
} from '@temporalio/workflow';
import type { AllActivities } from '../../activities/index.js';
import { type Said, sentenceOf } from '../../core/rows/pause.js';

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

/** Returns the state of a workflow for Temporal's web UI (Markdown): its title and phase, then facts, then its message. */
export function detailsText(
  title: string,
  status: Said & { readonly phase: string; readonly pausedFor?: string | null },
  facts: readonly string[] = [],
): string {
  const { phase, pausedFor } = status;
  const message = sentenceOf(status);
  const first = `${title}: ${phase}${pausedFor ? ` (${pausedFor})` : ''}`;
  return [first, ...facts, ...(message ? [message] : [])].join('\n\n');
}

/** Activities with this policy, each with its summary: a phrase that Temporal's UI shows beside the name of the activity. */
export function summarizedActivities<Name extends keyof AllActivities>(
  policy: ActivityOptions,
  summaries: Readonly<Record<Name, string>>,
): Pick<ActivityInterfaceFor<AllActivities>, Name> {
  const activities = Object.entries<string>(summaries).map(([name, summary]) => [
    name,
    (proxyActivities({ ...policy, summary }) as Readonly<Record<string, ActivityFunction>>)[name],
  ]);
  return Object.fromEntries(activities);
}

/**
 * Sets how a workflow moves between versions of the workers. `moves`: the workflow may wait for long, and continues on the next version at
 * its next step; `stays`: the workflow is short, and its version drains. Without Worker Versioning, Temporal accepts no behaviour. So a
 * workflow that began on a versioned worker can only continue on versioned workers.
 */
// biome-ignore lint/suspicious/noExplicitAny: the arguments of any workflow.
export function setVersioning(how: 'moves' | 'stays', workflow: (...args: any[]) => Promise<unknown>): void {
  setWorkflowOptions(() => {
    const isVersioned = Boolean(workflowInfo().currentDeploymentVersion?.deploymentName);
    return isVersioned ? { versioningBehavior: how === 'moves' ? 'AUTO_UPGRADE' : 'PINNED' } : {};
  }, workflow);
}
