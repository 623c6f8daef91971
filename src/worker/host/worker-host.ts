import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import {
  type ActivityInterceptorsFactory,
  type InjectedSinks,
  type NativeConnection,
  Worker,
  type WorkerOptions,
} from '@temporalio/worker';
import { interruptActivities } from '../../activities/base/interrupts.js';
import { type ActivityDeps, createActivities } from '../../activities/index.js';
import type { WorkflowSinks } from '../../core/rows/job.js';
import { inPackage } from '../../files/package-root.js';
import type { RuntimeConfig } from '../config/runtime-types.js';

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

/**
 * The workflow code: the bundle from build time if it was made with the installed SDK; else the sources, which are bundled in seconds when
 * the worker starts. A bundle contains a part of the SDK and needs a worker of the same version.
 */
export function workflowSource(): Pick<WorkerOptions, 'workflowBundle' | 'workflowsPath'> {
  const bundle = inPackage('dist', 'worker', 'workflow-bundle.js');
  const madeWith = inPackage('dist', 'worker', 'workflow-bundle.sdk');
  const { version } = createRequire(import.meta.url)('@temporalio/worker/package.json') as { readonly version: string };
  return existsSync(madeWith) && readFileSync(madeWith, 'utf8') === version
    ? { workflowBundle: { codePath: bundle } }
    : { workflowsPath: inPackage('dist', 'workflows', 'index.js') };
}

/** The functions that the workflows call in their process. */
export const workflowSinks: InjectedSinks<WorkflowSinks> = {
  searchflow: { interrupt: { fn: ({ runId }) => interruptActivities(runId) } },
};

/** A running worker; `stop` drains it. */
export interface RunningWorker {
  /** Resolves when the worker has stopped; rejects if it failed. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/** Creates a worker, which polls nothing before it runs. */
export function createWorker(
  config: RuntimeConfig,
  connection: NativeConnection,
  deps: ActivityDeps,
  watch: ActivityInterceptorsFactory | null = null,
): Promise<Worker> {
  return Worker.create({
    ...workerDefaults,
    ...workflowSource(),
    connection,
    namespace: config.namespace,
    taskQueue: config.taskQueue,
    activities: createActivities(deps),
    sinks: workflowSinks,
    ...(watch ? { interceptors: { activity: [watch] } } : {}),
  });
}

/** Runs a worker. */
export function runWorker(worker: Worker): RunningWorker {
  const ended = worker.run();
  // The failure is reported to callers that await `ended`. Without such a caller, the failure must not be an unhandled rejection.
  ended.catch(() => undefined);
  return {
    ended,
    stop: async () => {
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await ended;
    },
  };
}
