import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import {
  type ActivityInterceptorsFactory,
  type NativeConnection,
  Worker,
  type WorkerOptions,
} from '@temporalio/worker';
import { type ActivityDeps, createActivities } from '../../activities/index.js';
import type { RuntimeConfig } from '../config/runtime-types.js';

/** Worker options that fit these activities: heartbeats every second, a small workflow cache, a short wait for a worker that died, a drain longer than a landing. */
export const workerDefaults = {
  maxHeartbeatThrottleInterval: '1s',
  defaultHeartbeatThrottleInterval: '1s',
  maxConcurrentActivityTaskExecutions: 500,
  maxCachedWorkflows: 100,
  workflowThreadPoolSize: 1,
  // How long a workflow waits for the worker that knows it, which may be dead, before another reads its history.
  stickyQueueScheduleToStartTimeout: '5s',
  shutdownGraceTime: 0,
  shutdownForceTime: '20s',
} as const satisfies Partial<WorkerOptions>;

const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));

/**
 * The workflows: the bundle made at build time, where it was made with the SDK that is installed; else bundled when the worker starts, in
 * seconds. A bundle holds a part of the SDK, which another version of the worker does not understand.
 */
export function workflowSource(): Pick<WorkerOptions, 'workflowBundle' | 'workflowsPath'> {
  const bundle = here('../workflow-bundle.js');
  const madeWith = here('./workflow-bundle.sdk');
  const { version } = createRequire(import.meta.url)('@temporalio/worker/package.json') as { readonly version: string };
  return existsSync(madeWith) && readFileSync(madeWith, 'utf8') === version
    ? { workflowBundle: { codePath: bundle } }
    : { workflowsPath: here('../../workflows/index.js') };
}

/** A worker that runs; `stop` drains it. */
export interface RunningWorker {
  /** Resolves when it has stopped; rejects when it failed. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

export async function startWorker(
  config: RuntimeConfig,
  connection: NativeConnection,
  deps: ActivityDeps,
  watch: ActivityInterceptorsFactory | null = null,
): Promise<RunningWorker> {
  const worker = await Worker.create({
    ...workerDefaults,
    ...workflowSource(),
    connection,
    namespace: config.namespace,
    taskQueue: config.taskQueue,
    activities: createActivities(deps),
    ...(watch ? { interceptors: { activity: [watch] } } : {}),
  });
  const ended = worker.run();
  // Whoever waits for `ended` sees the failure; nobody waiting must not be an unhandled rejection.
  ended.catch(() => undefined);
  return {
    ended,
    stop: async () => {
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await ended;
    },
  };
}
