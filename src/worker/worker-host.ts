import { appendFileSync, existsSync, mkdirSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { IllegalStateError } from '@temporalio/common';
import { DefaultLogger, type NativeConnection, Runtime, Worker, type WorkerOptions } from '@temporalio/worker';
import { type ActivityDeps, createActivities } from '../activities/index.js';
import type { RuntimeConfig } from './runtime-types.js';

/** Worker options that fit these activities: heartbeats every second, a small workflow cache, a drain longer than a landing. */
export const workerDefaults = {
  maxHeartbeatThrottleInterval: '1s',
  defaultHeartbeatThrottleInterval: '1s',
  maxConcurrentActivityTaskExecutions: 500,
  maxCachedWorkflows: 100,
  workflowThreadPoolSize: 1,
  shutdownGraceTime: 0,
  shutdownForceTime: '20s',
} as const satisfies Partial<WorkerOptions>;

const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));

/** The workflows: the bundle made at build time where there is one, else bundled when the worker starts. */
export function workflowSource(): Pick<WorkerOptions, 'workflowBundle' | 'workflowsPath'> {
  const bundle = here('./workflow-bundle.js');
  return existsSync(bundle)
    ? { workflowBundle: { codePath: bundle } }
    : { workflowsPath: here('../workflows/index.js') };
}

const MAX_LOG_BYTES = 10_000_000;

/** Sends the SDK's own log to a file: a person's terminal is for the progress of the job. Once a process, before any worker. */
export function logToFile(stateDir: string): void {
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  const path = join(stateDir, 'worker.log');
  if (existsSync(path) && statSync(path).size > MAX_LOG_BYTES) truncateSync(path);
  const logger = new DefaultLogger('WARN', ({ level, timestampNanos, message, meta }) => {
    const at = new Date(Number(timestampNanos / 1_000_000n)).toISOString();
    appendFileSync(path, `${at} ${level} ${message} ${meta ? safeJson(meta) : ''}\n`, { mode: 0o600 });
  });
  try {
    Runtime.install({
      logger,
      // Signals are the command's: it drains, and says what it does.
      shutdownSignals: [],
      telemetryOptions: { logging: { forward: {}, filter: { core: 'ERROR', other: 'ERROR' } } },
    });
  } catch (error) {
    // This process has a runtime already: an earlier worker's, with the same log, or its owner's, with theirs.
    if (!(error instanceof IllegalStateError)) throw error;
  }
}

function safeJson(value: unknown): string {
  return JSON.stringify(value, (_name, item: unknown) =>
    typeof item === 'bigint' ? item.toString() : item instanceof Error ? `${item.name}: ${item.message}` : item,
  );
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
): Promise<RunningWorker> {
  const worker = await Worker.create({
    ...workerDefaults,
    ...workflowSource(),
    connection,
    namespace: config.namespace,
    taskQueue: config.taskQueue,
    activities: createActivities(deps),
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
