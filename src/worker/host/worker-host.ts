import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { DataConverter } from '@temporalio/common';
import {
  type ActivityInterceptorsFactory,
  type InjectedSinks,
  type NativeConnection,
  Worker,
  type WorkerDeploymentOptions,
  type WorkerOptions,
} from '@temporalio/worker';
import { interruptActivities } from '../../activities/base/interrupts.js';
import type { Activities } from '../../activities/index.js';
import { ENCRYPTS_FAILURES } from '../../core/processes/encrypted-failures.js';
import type { WorkflowSinks } from '../../core/rows/job-names.js';
import { inPackage } from '../../files/package-root.js';
import type { RuntimeConfig } from '../config/runtime-types.js';
import { failureConverterPath } from '../data-converter/data-converter.js';

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
 * the worker starts. A bundle contains a part of the SDK and needs a worker of the same version. A data converter with converters of its
 * own, other than codecs, becomes a part of the bundle.
 */
export function workflowSource(
  dataConverter: DataConverter | null = null,
): Pick<WorkerOptions, 'workflowBundle' | 'workflowsPath'> {
  const { payloadConverterPath, failureConverterPath: path } = dataConverter ?? {};
  const bundle = inPackage('dist', 'worker', 'workflow-bundle.js');
  const madeWith = inPackage('dist', 'worker', 'workflow-bundle.sdk');
  const { version } = createRequire(import.meta.url)('@temporalio/worker/package.json') as { readonly version: string };
  const encrypts = path === failureConverterPath;
  const isOwn = payloadConverterPath === undefined && (path === undefined || encrypts);
  if (!isOwn || !existsSync(madeWith) || readFileSync(madeWith, 'utf8') !== version)
    return { workflowsPath: inPackage('dist', 'workflows', 'index.js') };
  // The failure converter of the bundle reads this variable, see `workflows/failure-converter`.
  if (encrypts)
    return { workflowBundle: { code: `globalThis.${ENCRYPTS_FAILURES}=true;${readFileSync(bundle, 'utf8')}` } };
  return { workflowBundle: { codePath: bundle } };
}

/** The functions that the workflows call in their process. */
export const workflowSinks: InjectedSinks<WorkflowSinks> = {
  searchflow: { interrupt: { fn: ({ runId }) => interruptActivities(runId) } },
};

/** A running worker; `stop` drains it. */
export interface RunningWorker {
  /** Resolves when the worker has stopped; rejects if it failed. */
  readonly ended: Promise<void>;
  /** Whether the worker takes work. */
  readonly isRunning: () => boolean;
  stop(): Promise<void>;
}

/** Parts of a worker that not every worker has. */
export interface WorkerParts {
  readonly dataConverter: DataConverter | null;
  /** Its version; null: an unversioned worker. */
  readonly deployment: RuntimeConfig['deployment'];
  readonly watch: ActivityInterceptorsFactory | null;
}

/** Creates a worker, which polls nothing before it runs. */
export function createWorker(
  config: RuntimeConfig,
  connection: NativeConnection,
  activities: Activities,
  { dataConverter, deployment, watch }: WorkerParts,
): Promise<Worker> {
  return Worker.create({
    ...workerDefaults,
    ...workflowSource(dataConverter),
    ...(dataConverter ? { dataConverter } : {}),
    ...(deployment ? { workerDeploymentOptions: deploymentOptions(deployment) } : {}),
    connection,
    namespace: config.namespace,
    taskQueue: config.taskQueue,
    activities,
    sinks: workflowSinks,
    interceptors: { activity: watch ? [watch] : [] },
  });
}

/** Options of a versioned worker. The default is for workflows that began before the worker had versions. */
export const deploymentOptions = (version: WorkerDeploymentOptions['version']): WorkerDeploymentOptions => ({
  ...{ version, useWorkerVersioning: true, defaultVersioningBehavior: 'AUTO_UPGRADE' },
});

/** Runs a worker. */
export function runWorker(worker: Worker): RunningWorker {
  const ended = worker.run();
  // The failure is reported to callers that await `ended`. Without such a caller, the failure must not be an unhandled rejection.
  ended.catch(() => undefined);
  return {
    ended,
    isRunning: () => worker.getState() === 'RUNNING',
    stop: async () => {
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await ended;
    },
  };
}
