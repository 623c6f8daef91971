import { Client } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { NativeConnection, type WorkerOptions } from '@temporalio/worker';
import { CodedError } from '../../core/errors/coded-error.js';
import { deferred } from '../../core/processes/deferred.js';
import type { RuntimeConfig } from '../config/runtime-types.js';
import { WorkOwners } from '../control/work-owners.js';
import { forClient } from '../data-converter/data-converter.js';
import type { Store } from '../store/store.js';
import { limitAmongWorkers, queueLockOf, takeQueueLocks } from '../team/presence.js';
import { otherLimitsText } from '../team/team.js';
import type { OpenedParts } from './alone.js';
import { openParts, type Parts } from './parts.js';

/** Opens the parts of a worker with a record, and takes the locks of its task queue. */
export async function openRecord(
  config: RuntimeConfig,
  worker: WorkerOptions | null,
  dataConverter: DataConverter | null,
): Promise<OpenedParts> {
  const opening = openParts({ ...config, taskQueue: worker?.taskQueue ?? config.taskQueue });
  const parts = await unlessStopped(opening);
  try {
    const locks = worker && (await ownQueueLocks(config, parts, worker, dataConverter));
    return {
      activities: parts.activities,
      journal: parts.deps.journal,
      close: async () => {
        try {
          await locks?.leave();
        } finally {
          await parts.close();
        }
      },
    };
  } catch (error) {
    await parts.close();
    throw error;
  }
}

/**
 * Returns the parts when they are open. Rejects at a signal to stop, which the SDK heeds only once the worker runs; the parts are then
 * closed as soon as they are open.
 */
async function unlessStopped(opening: ReturnType<typeof openParts>): ReturnType<typeof openParts> {
  const stopped = deferred<never>();
  const stop = (signal: string) =>
    stopped.reject(new CodedError('interrupted', `The worker was stopped by ${signal} while it started`));
  for (const signal of stopSignals) process.once(signal, stop);
  try {
    return await Promise.race([opening, stopped.promise]);
  } catch (error) {
    opening.then((parts) => parts.close()).catch(() => undefined);
    throw error;
  } finally {
    for (const signal of stopSignals) process.off(signal, stop);
  }
}

const stopSignals = ['SIGINT', 'SIGTERM'] as const;

/** Takes the lock of the task queue, and that of the rate limit if no store shares the limit. Takes over the work of dead commands. */
async function ownQueueLocks(
  config: RuntimeConfig,
  { store, reservation, watchTemporal }: Pick<Parts, 'reservation' | 'watchTemporal'> & { readonly store: Store },
  { connection, namespace, taskQueue }: WorkerOptions,
  dataConverter: DataConverter | null,
) {
  const own = connection ?? (await NativeConnection.connect());
  const closing: (() => Promise<void>)[] = connection ? [] : [() => own.close()];
  const leaveAll = async () => {
    for (const close of closing.splice(0).reverse()) await close();
  };
  try {
    const named = namespace === undefined ? {} : { namespace };
    const client = new Client({ connection: own, dataConverter: forClient(dataConverter), ...named });
    const { leave } = await takeQueueLocks(
      client,
      taskQueue,
      [queueLockOf({ taskQueue })],
      config.store?.shown ?? null,
    );
    closing.push(leave);
    await reservation?.alsoTake(limitAmongWorkers(client, { ...config, taskQueue }));
    closing.push(async () => reservation?.alsoTake(null));
    const owners = new WorkOwners({ ...config, taskQueue }, store, async () => client);
    closing.push(() => owners.close());
    await owners.resolveOrphans('worker');
    owners.watch('worker');
    watchTemporal(client);
    const warning = otherLimitsText(await store.otherLimits());
    if (warning !== null) config.say(warning);
  } catch (error) {
    await leaveAll();
    throw error;
  }
  return { leave: leaveAll };
}
