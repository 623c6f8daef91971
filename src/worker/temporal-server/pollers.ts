import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Worker } from '@temporalio/worker';
import { deferred } from '../../core/processes/deferred.js';
import { toDo } from '../../core/text/shell-word.js';
import { isAlive } from '../../files/process-identity.js';
import { lockHolder, tryLock } from '../../files/process-lock.js';
import { type RuntimeConfig, UsageError } from '../config/runtime-types.js';
import { type RecordName, recordId } from '../store/team.js';
import { grpcCode } from './retries-until-close.js';
import type { connectIfRunning } from './temporal.js';

/** Time in ms after its last poll for which a worker counts as running: Temporal answers a poll within a minute. */
const SEEN_MS = 70_000;
const EVERY_MS = 20_000;
const CALL_MS = 3000;
/** Longest wait in ms until the first polls of this worker are listed. The heartbeat timeout of activities is longer. */
const LISTED_MS = 8000;
/** Codes of gRPC for a list of pollers that this worker cannot have: permission denied, unimplemented, unauthenticated. */
const NO_LIST = [7, 12, 16];
/** Kind of a task queue in Temporal's API: activities. A worker that is refused at its start may still have asked for a workflow task. */
const ACTIVITIES = 2;

export const SEPARATE_RECORDS =
  'Let both share a PostgreSQL store (store, SEARCHFLOW_STORE=postgres://…), give one of them another task queue (taskQueue, SEARCHFLOW_TASK_QUEUE), or stop one.';

/** A worker, as the poller of a task queue. */
export interface Poller {
  /** The identity of its polls, usually `pid@host`, without the record. */
  readonly who: string;
  /** See `recordId`; null: the worker has no record. */
  readonly record: string | null;
  /** Time of its last poll in Unix ms, by the clock of the server. */
  readonly at: number;
}

/** Number of workers that run in this process, by record; 0 after the end of the last one. */
const running = new Map<string | null, number>();

/** Whether the worker has certainly ended. Temporal lists a poller for five minutes; since version 1.31 not after a clean end. */
function hasEnded({ who, record }: Poller): boolean {
  const [, pid, host] = /^(\d+)@(\S+)$/.exec(who) ?? [];
  if (pid === undefined || host !== hostname()) return false;
  return Number(pid) === process.pid ? running.get(record) === 0 : !isAlive(Number(pid), null);
}

/** Whether the worker polls, as far as is known. `now`: by the clock of the server. */
const isRunning = (poller: Poller, now: number): boolean => now - poller.at < SEEN_MS && !hasEnded(poller);

/** The workers that poll the activities of a task queue, or did so in the last minutes, the last poll first. */
async function listPollers(client: Client, taskQueue: string): Promise<readonly Poller[]> {
  const { workflowService: service, options } = client;
  const describe = async (name = taskQueue) => {
    const queue = { namespace: options.namespace, taskQueue: { name }, taskQueueType: ACTIVITIES };
    return (await service.describeTaskQueue(queue)).pollers ?? [];
  };
  const lists = await client.withDeadline(Date.now() + CALL_MS, async () => {
    const queue = { namespace: options.namespace, taskQueue: { name: taskQueue } };
    // A queue has partitions, of which a worker with few polls may poll any. A server that does not list them has at least the first.
    const listed = await service.listTaskQueuePartitions(queue).catch(() => null);
    const others = (listed?.activityTaskQueuePartitions ?? []).flatMap(({ key }) => key ?? []).slice(1);
    return Promise.all([describe(), ...others.map((name) => describe(name).catch(() => []))]);
  });
  return lists
    .flat()
    .map(({ identity, lastAccessTime }): Poller => {
      const [, who = identity ?? '', record = null] = /^(.*) searchflow:([0-9a-f]{12})$/s.exec(identity ?? '') ?? [];
      return { who, record, at: Number(lastAccessTime?.seconds ?? 0) * 1000 + (lastAccessTime?.nanos ?? 0) / 1e6 };
    })
    .sort((one, other) => other.at - one.at);
}

/** A worker with a record that polls the task queue now, as far as Temporal knows; null if there is none. */
export async function workerOn(client: Client, taskQueue: string): Promise<Poller | null> {
  const found = await listPollers(client, taskQueue);
  return found.find((poller) => poller.record !== null && isRunning(poller, Date.now())) ?? null;
}

/**
 * The other pollers of the task queue of a worker. Two workers with separate records would buy the same rows, so the second one is refused.
 * Of two workers that start at the same time, at least one sees the polls of the other one before it runs an activity.
 */
export class Pollers {
  readonly #config: Pick<RuntimeConfig, 'taskQueue' | 'say'>;
  readonly #record: string;
  readonly #admitted = deferred<void>();
  #client: Client | null = null;
  /** Time of the last poll with the own record, and of the last one before this worker polled, by the clock of the server. */
  #ownAt = 0;
  #before = 0;
  #hasWarned = false;

  constructor(config: Pick<RuntimeConfig, 'taskQueue' | 'say'> & RecordName) {
    this.#config = config;
    this.#record = recordId(config);
    this.#admitted.promise.catch(() => undefined);
  }

  /** Resolves when the worker may run activities. Rejects with `UsageError` if a worker with another record was seen before that. */
  get admitted(): Promise<void> {
    return this.#admitted.promise;
  }

  /** Throws `UsageError` if a worker with another record polls the task queue. Call this before the worker polls. */
  async check(client: Client): Promise<void> {
    this.#client = client;
    await this.#look().catch((error: unknown) => {
      if (!NO_LIST.includes(grpcCode(error) ?? 0)) throw error;
      this.#client = null;
      this.#config.say(
        `Temporal does not list the pollers of the task queue ${this.#config.taskQueue} (DescribeTaskQueue) for this worker, so a worker with another record is not detected. Two such workers would buy the same rows.`,
      );
    });
    this.#before = this.#ownAt;
  }

  /**
   * Runs the worker with `run`. Repeats the check while the worker runs: if a worker with another record polls the task queue, shuts the
   * worker down, then rejects with `UsageError`.
   */
  async run(worker: Pick<Worker, 'getState' | 'shutdown'>, run: () => Promise<void>): Promise<void> {
    const ended = new AbortController();
    running.set(this.#record, (running.get(this.#record) ?? 0) + 1);
    const watched = this.#watch(worker, ended.signal).catch((error: Error) => {
      this.#admitted.reject(error);
      this.#config.say(error.message);
      if (worker.getState() === 'RUNNING') worker.shutdown();
      return error;
    });
    try {
      await run();
    } finally {
      ended.abort();
      running.set(this.#record, (running.get(this.#record) as number) - 1);
    }
    const refused = await watched;
    if (refused) throw refused;
  }

  async #watch(worker: Pick<Worker, 'getState'>, ended: AbortSignal): Promise<void> {
    const wait = (ms: number) => delay(ms, undefined, { signal: ended, ref: false }).catch(() => undefined);
    while (worker.getState() === 'INITIALIZED' && !ended.aborted) await wait(10);
    const until = performance.now() + LISTED_MS;
    let hasFailed = false;
    for (let ms = 25, isAdmitted = false; !ended.aborted && this.#client; await wait(ms)) {
      // Only a list that is asked for after the own polls were listed shows all workers that could not see these polls.
      const wasListed = this.#ownAt > this.#before || performance.now() > until;
      try {
        await this.#look();
        isAdmitted ||= wasListed;
      } catch (error) {
        if (ended.aborted) break;
        if (error instanceof UsageError) throw error;
        if (!hasFailed)
          this.#config.say(`The search for workers with another record failed, and is repeated: ${error}`);
        hasFailed = true;
        isAdmitted ||= performance.now() > until;
      }
      if (isAdmitted) this.#admitted.resolve();
      const isListed = !wasListed && this.#ownAt > this.#before;
      ms = isAdmitted ? EVERY_MS : isListed ? 0 : Math.min(2 * ms, 1000);
    }
    this.#admitted.resolve();
  }

  /** Throws `UsageError` if a worker with another record has polled the task queue just now. */
  async #look(): Promise<void> {
    const { taskQueue } = this.#config;
    const found = this.#client ? await listPollers(this.#client, taskQueue) : [];
    this.#ownAt = found.find(({ record }) => record === this.#record)?.at ?? this.#ownAt;
    // The polls of this worker show the time of the server, whose clock may differ.
    const now = this.#ownAt > this.#before ? this.#ownAt : Date.now();
    const others = found.filter((poller) => poller.record !== this.#record && isRunning(poller, now));
    const other = others.find(({ record }) => record !== null);
    if (!other) return this.#warn(others[0]);
    const seconds = Math.ceil(Math.min(SEEN_MS, SEEN_MS - (now - other.at)) / 1000);
    throw new UsageError(
      'task-queue-in-use',
      `Another worker (${other.who}) polls the task queue ${taskQueue} with another record, so both would buy the same rows. ${SEPARATE_RECORDS} If the other worker has ended, start this one in ${seconds} s.`,
    );
  }

  /** Says once that a worker without a record polls the task queue. */
  #warn(other: Poller | undefined): void {
    if (!other || this.#hasWarned) return;
    this.#hasWarned = true;
    this.#config.say(
      `Another worker (${other.who}) polls the task queue ${this.#config.taskQueue} without a record. Calls that it runs may buy again what this record has. ` +
        'Give all workers of the queue the same store, or this worker another task queue.',
    );
  }
}

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
