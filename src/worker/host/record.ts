import { homedir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { NativeConnection, type Worker, type WorkerOptions } from '@temporalio/worker';
import { CodedError } from '../../core/errors/coded-error.js';
import { deferred } from '../../core/processes/deferred.js';
import type { Sink } from '../../core/rows/sink.js';
import { whyNotOwn } from '../../files/make-folder.js';
import { whyOtherFormat } from '../../store/process/folder-format.js';
import { recordSettings } from '../config/derived-settings.js';
import { type RuntimeConfig, UsageError } from '../config/runtime-types.js';
import type { Values } from '../config/settings.js';
import { WorkOwners } from '../control/work-owners.js';
import { forClient } from '../data-converter/data-converter.js';
import type { Store } from '../store/store.js';
import { identityOf, otherLimitsText, recordId } from '../store/team.js';
import { Pollers } from '../temporal-server/pollers.js';
import type { AloneConfig, OpenedParts } from './alone.js';
import { openParts, type Parts } from './parts.js';

/** Opens the parts of a worker with a record. Throws `UsageError` if a worker with another record polls its task queue. */
export async function openRecord(
  config: RuntimeConfig,
  options: WorkerOptions | null,
  worker: Worker | null,
): Promise<OpenedParts> {
  const here = { ...config, taskQueue: options?.taskQueue ?? config.taskQueue };
  const parts = await unlessStopped(openParts(here));
  try {
    const joined = options && worker && (await joinQueue(here, parts, options, worker));
    return {
      activities: parts.activities,
      journal: parts.deps.journal,
      pollers: joined?.pollers ?? null,
      close: async () => {
        try {
          await joined?.leave();
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

/** Checks the other workers of the task queue, then ends the work of dead commands. */
async function joinQueue(
  config: RuntimeConfig,
  { store, watchTemporal }: Pick<Parts, 'watchTemporal'> & { readonly store: Store },
  { connection, namespace }: WorkerOptions,
  { options: { identity, dataConverter } }: Worker,
) {
  const record = identityOf(recordId(config), '');
  if (!identity.endsWith(record))
    throw new UsageError(
      'setting-invalid',
      `Another plugin has replaced the identity of this worker, by which other workers find its record. Let the identity end with "${record}", or pass SearchflowPlugin last.`,
    );
  const own = connection ?? (await NativeConnection.connect());
  const closing: (() => Promise<void>)[] = connection ? [] : [() => own.close()];
  const leaveAll = async () => {
    for (const close of closing.splice(0).reverse()) await close();
  };
  try {
    const named = namespace === undefined ? {} : { namespace };
    const client = new Client({ connection: own, dataConverter: forClient(dataConverter ?? null), ...named });
    const pollers = new Pollers(config);
    await pollers.check(client);
    const owners = new WorkOwners(config, store, async () => client);
    closing.push(() => owners.close());
    await owners.endOrphans();
    owners.watch();
    watchTemporal(client);
    const warning = otherLimitsText(await store.otherLimits());
    if (warning !== null) config.say(warning);
    return { pollers, leave: leaveAll };
  } catch (error) {
    await leaveAll();
    throw error;
  }
}

/** The settings of a worker with a record in a folder. Throws `UsageError` for a folder that cannot be used. */
export function recordConfig(values: Values, alone: AloneConfig): RuntimeConfig {
  const { stateDir } = values;
  const foreign = values.trustStateDir ? null : whyNotOwn(stateDir);
  if (foreign !== null)
    throw new UsageError(
      'state-folder-unusable',
      `stateDir: ${stateDir} ${foreign}. Change its owner or permissions, or set trustStateDir.`,
    );
  const otherFormat = whyOtherFormat(stateDir, stateDir);
  if (otherFormat !== null) throw new UsageError('state-folder-unusable', otherFormat);
  for (const [name, sink] of Object.entries(values.sinks ?? {})) {
    const problem = sinkProblem(name, sink);
    if (problem !== null) throw new UsageError('setting-invalid', `sinks: ${name} ${problem}.`);
  }
  return {
    ...values,
    ...alone,
    ...recordSettings(values),
    userStateDir: join(homedir(), '.local', 'state', 'searchflow'),
    rateIsShare: values.qps !== undefined,
    temporalAddress: null,
  };
}

/** Longest time limit of a load into a sink, in seconds: an activity of Temporal has 30 minutes. */
const MOST_LOAD_SECONDS = 1500;

function sinkProblem(name: string, sink: Partial<Sink> | null): string | null {
  const { load, timeoutSeconds = 1 } = sink ?? {};
  if (!/^[a-z][a-z0-9_]{0,29}$/.test(name)) return 'is not a name of at most 30 of the characters a to z, 0 to 9 and _';
  if (typeof load !== 'function') return 'has no function load';
  return timeoutSeconds >= 1 && timeoutSeconds <= MOST_LOAD_SECONDS
    ? null
    : `has a timeoutSeconds that is not from 1 to ${MOST_LOAD_SECONDS}`;
}
