import type { InjectedSinks, WorkerDeploymentOptions, WorkerOptions } from '@temporalio/worker';
import { interruptActivities } from '../../activities/base/cancellation.js';
import type { WorkflowSinks } from '../../core/rows/job-names.js';

/**
 * Options of the workers of commands: heartbeats every second, with which progress and a pause pass, a small workflow cache, and a shutdown
 * that is longer than a landing.
 */
export const workerDefaults = {
  maxHeartbeatThrottleInterval: '1s',
  defaultHeartbeatThrottleInterval: '1s',
  maxConcurrentActivityTaskExecutions: 500,
  maxCachedWorkflows: 100,
  workflowThreadPoolSize: 1,
  // How long a workflow task waits for the worker that has the workflow cached, which may be dead.
  stickyQueueScheduleToStartTimeout: '5s',
  shutdownGraceTime: 0,
  shutdownForceTime: '20s',
} as const satisfies Partial<WorkerOptions>;

/** The functions that the workflows call in their process. */
export const workflowSinks: InjectedSinks<WorkflowSinks> = {
  searchflow: { interrupt: { fn: ({ runId }) => interruptActivities(runId) } },
};

/** Options of a versioned worker. The default is for workflows that began before the worker had versions. */
export const deploymentOptions = (version: WorkerDeploymentOptions['version']): WorkerDeploymentOptions => ({
  ...{ version, useWorkerVersioning: true, defaultVersioningBehavior: 'AUTO_UPGRADE' },
});
