import { join } from 'node:path';
import { toDo } from '../../core/text/shell-word.js';
import { lockHolder, tryLock } from '../../files/process-lock.js';
import { type RuntimeConfig, UsageError } from '../config/runtime-types.js';
import type { connectIfRunning } from '../temporal-server/temporal.js';
import { workerOn } from './pollers.js';

const lockOf = ({ stateDir }: Pick<RuntimeConfig, 'stateDir'>): string => join(stateDir, 'standing-worker.lock');

/** Records that this process runs the worker of its folder and does not end with a job: `worker`, `dev`, or a worker with the plugin. */
export function standHere(config: Pick<RuntimeConfig, 'stateDir'>): { release(): void } {
  return tryLock(lockOf(config)) ?? { release: () => undefined };
}

/**
 * Throws `UsageError` if no worker runs that does not end with a command: the worker of the folder or, with a shared store, a worker that
 * answers on the task queue. Starts no server.
 */
export async function requireWorkers(
  config: Pick<RuntimeConfig, 'stateDir' | 'taskQueue'>,
  shared: boolean,
  connect: () => ReturnType<typeof connectIfRunning>,
): Promise<void> {
  const server = shared ? await connect() : null;
  const isThere = shared ? server && (await workerOn(server.client, config.taskQueue)) : lockHolder(lockOf(config));
  if (isThere) return;
  const where = shared ? `answers on task queue ${config.taskQueue}` : `runs in ${config.stateDir}`;
  throw new UsageError(
    'worker-missing',
    `--detach needs a worker that continues without this command, and none ${where}. Nothing was started or bought. ${toDo('To start one', 'worker')}`,
  );
}
