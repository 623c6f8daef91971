import type { StagedJob } from '../../core/rows/job.js';
import type { JobEntries } from '../../core/rows/job-entries.js';
import type { WatchedRun } from '../../core/schedules/schedule.js';
import { isPostgresUrl } from '../../core/text/postgres-address.js';
import type { RuntimeConfig } from '../config/runtime-types.js';
import { limitAmongWorkers, queueLockOf, takeQueueLocks } from '../control/presence.js';
import type { Role, WorkOwners } from '../control/work-owners.js';
import type { Store } from '../store/store.js';
import { otherLimitsText } from '../store/team.js';
import type { Temporal } from '../temporal-server/temporal.js';
import { assembleParts, type Parts } from './parts.js';
import { runWatch } from './run-watch.js';
import type { RunningWorker } from './worker-host.js';

/** The worker of this process. */
export class WorkerHere {
  readonly #config: RuntimeConfig;
  readonly #store: Store;
  readonly #connect: () => Promise<Temporal>;
  readonly #owners: WorkOwners;
  #role: Role = 'command';
  #report: ((run: WatchedRun) => void) | null = null;
  #parts: Parts | null = null;
  #worker: RunningWorker | null = null;
  #locks: ReturnType<typeof takeQueueLocks> | null = null;
  #refused = false;
  #starting: Promise<void> | null = null;
  #takesOver = false;
  #closing = false;

  constructor(config: RuntimeConfig, store: Store, connect: () => Promise<Temporal>, owners: WorkOwners) {
    this.#config = config;
    this.#store = store;
    this.#connect = connect;
    this.#owners = owners;
  }

  /** Another process of the folder runs the worker, and this one is only a client. */
  get refused(): boolean {
    return this.#refused;
  }

  get parts(): Parts | null {
    return this.#parts;
  }

  /** Resolves when the worker has ended; null if none runs here. */
  get ended(): Promise<void> | null {
    return this.#worker?.ended ?? null;
  }

  /** Runs the worker, unless another process of the folder does. Throws `UsageError` if another worker holds the task queue. */
  async run(role: Role = 'command', report: ((run: WatchedRun) => void) | null = null): Promise<void> {
    if (this.#worker) return;
    this.#role = role;
    this.#report = report;
    // The server takes a second to start, and the journal is read in the meantime.
    this.#connect().catch(() => undefined);
    await this.#startOnce();
  }

  /**
   * Runs the worker once the process that ran it has ended; false until then. Throws if the worker can't be run, after releasing its lock
   * for another attempt or another process.
   */
  async takeOver(): Promise<boolean> {
    if (!this.#refused || this.#closing) return false;
    this.#takesOver = true;
    try {
      await this.#startOnce();
    } catch (error) {
      this.#refused = true;
      await this.#release();
      throw error;
    } finally {
      this.#takesOver = false;
    }
    return this.#worker !== null;
  }

  /** Allows one start at a time, because a second one would find the lock held by the first. */
  #startOnce(): Promise<void> {
    this.#starting ??= this.#start().finally(() => {
      this.#starting = null;
    });
    return this.#starting;
  }

  async #start(): Promise<void> {
    const working = await this.#store.work();
    this.#refused = working === null;
    if (working === null) return;
    const { installRuntime } = await import('./install-runtime.js');
    installRuntime(this.#config);
    const parts = await assembleParts(this.#config, this.#store, working);
    this.#parts = parts;
    // A service that can't be reached is reported before a job waits for it.
    await parts.transport.warm(Math.min(8, this.#config.concurrency));
    const pruning = this.#prune(parts, this.#store.entries);
    // A warehouse that can't be reached would hold a shared store's worker up for long, and there many may be looked at.
    if (this.#store.shared) pruning.catch(() => undefined);
    else await pruning;
    const temporal = await this.#connect();
    const native = await temporal.nativeConnection();
    this.#throwIfClosing();
    await this.#takeQueueLocks(temporal);
    this.#throwIfClosing();
    // Work of dead commands is handled before this worker can receive any of it.
    await this.#owners.resolveOrphans(this.#role);
    this.#throwIfClosing();
    const { startWorker } = await import('./worker-host.js');
    this.#worker = await startWorker(
      this.#config,
      native,
      parts.deps,
      this.#report && runWatch(temporal.client, this.#report),
    );
    this.#owners.watch(this.#role);
    if (this.#store.shared) this.#tryWarehouses(parts).catch(() => undefined);
    const warning = otherLimitsText(await this.#store.otherLimits());
    if (warning !== null) this.#config.say(warning);
  }

  /** Lets requests in flight land, and releases everything. */
  async drain(): Promise<void> {
    this.#closing = true;
    // A first start may take minutes and is not awaited.
    if (this.#takesOver) await this.#starting?.catch(() => undefined);
    // A worker that failed by itself has nothing left to drain.
    await this.#worker?.stop().catch(() => undefined);
    await this.#release();
  }

  #throwIfClosing(): void {
    if (this.#closing) throw new Error('The worker was stopped while it started');
  }

  async #release(): Promise<void> {
    const [locks, parts] = [this.#locks, this.#parts];
    this.#locks = null;
    this.#parts = null;
    await parts?.reservation?.alsoTake(null).catch(() => undefined);
    // Locks that are still being taken are awaited too, because Temporal would keep them for a worker that never ran.
    await locks?.then(({ leave }) => leave()).catch(() => undefined);
    await parts?.close();
  }

  async #takeQueueLocks({ client }: Temporal): Promise<void> {
    const { taskQueue, store, temporalAddress } = this.#config;
    this.#locks = takeQueueLocks(client, taskQueue, [queueLockOf(this.#config)], store?.shown ?? null);
    await this.#locks;
    // An embedded server serves this folder alone.
    if (temporalAddress !== null) await this.#parts?.reservation?.alsoTake(limitAmongWorkers(client, this.#config));
  }

  /** Asks the database of each job that is not done, so that a refused login is reported before there is work for it. */
  async #tryWarehouses({ deps }: Parts): Promise<void> {
    const jobs = (await this.#store.entries.all()).filter(({ staged, completed }) => completed !== staged.generation);
    const each = new Map(jobs.map(({ staged }) => [staged.into, staged]));
    await Promise.all([...each.values()].map((staged) => isPostgresUrl(staged.into) && loadedSlices(deps, staged)));
  }

  /** Forgets old bodies of jobs whose every row the warehouse holds: a reload of these is a copy of the file itself. */
  async #prune({ deps }: Parts, entries: JobEntries): Promise<void> {
    const before = Date.now() - this.#config.keepLandingMs;
    for (const { staged, completed } of await entries.all()) {
      if (completed !== staged.generation) continue;
      if ((await loadedSlices(deps, staged)) === staged.slices) await deps.journal.prune(`${staged.job}/`, before);
    }
  }
}

/** How many slices the warehouse holds; null where it is busy, gone or elsewhere: there is a next time. */
async function loadedSlices(deps: Parts['deps'], staged: StagedJob): Promise<number | null> {
  try {
    return (await deps.sinkFor(staged).loadedSlices(staged.job, staged.generation))?.length ?? null;
  } catch {
    return null;
  }
}
