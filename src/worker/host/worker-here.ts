import type { StagedJob } from '../../core/rows/job.js';
import { type RowWarehouse, WarehouseBusy } from '../../core/rows/row-warehouse.js';
import type { WatchedRun } from '../../core/schedules/schedule.js';
import { warehouseFile } from '../../warehouse/index.js';
import type { RuntimeConfig } from '../config/runtime-types.js';
import type { Role, WorkOwners } from '../control/work-owners.js';
import type { Store } from '../store/store.js';
import { limitAmongWorkers, queueLockOf, takeQueueLocks } from '../team/presence.js';
import { otherLimitsText } from '../team/team.js';
import type { ServerAccess, Temporal } from '../temporal-server/temporal.js';
import { openWarehouses } from '../warehouse/warehouses.js';
import { assembleParts, type Parts } from './parts.js';
import { runWatch } from './run-watch.js';
import type { RunningWorker } from './worker-host.js';

/** The worker of this process. */
export class WorkerHere {
  readonly #config: RuntimeConfig;
  readonly #store: Store;
  readonly #connect: () => Promise<Temporal>;
  readonly #awaitAnswer: () => Promise<void>;
  readonly #owners: WorkOwners;
  #role: Role = 'command';
  #report: ((run: WatchedRun) => void) | null = null;
  #parts: Parts | null = null;
  #worker: RunningWorker | null = null;
  #locks: ReturnType<typeof takeQueueLocks> | null = null;
  #refused = false;
  #starting: Promise<void> | null = null;
  #takesOver = false;
  #pruning: { readonly stop: AbortController; readonly done: Promise<void> } | null = null;
  #closing = false;

  constructor(config: RuntimeConfig, store: Store, { connect, awaitAnswer }: ServerAccess, owners: WorkOwners) {
    this.#config = config;
    this.#store = store;
    this.#connect = connect;
    this.#awaitAnswer = awaitAnswer;
    this.#owners = owners;
  }

  /** Whether another process of the folder runs the worker, and this process is only a client. */
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
    // The start of the server takes a second, so it is begun here. The journal is read in the meantime.
    this.#connect().catch(() => undefined);
    await this.#startOnce();
  }

  /**
   * Runs the worker once the process that ran it has ended; false until then. If the worker cannot be run, releases its lock for another
   * attempt or process, then throws.
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
    // The process of the server is started before the libraries of the worker are loaded, because loading blocks this process.
    await this.#awaitAnswer();
    const { installRuntime } = await import('./install-runtime.js');
    installRuntime(this.#config);
    const parts = await assembleParts(this.#config, this.#store, working);
    this.#parts = parts;
    // Connections to the service are opened here, so that an unreachable service is reported before a job waits for it.
    await parts.transport.warm(Math.min(8, this.#config.concurrency));
    // A database that cannot be reached would delay the start for minutes, so only files are awaited.
    this.#pruneInBackground((staged) => this.#store.shared || warehouseFile(staged.into) === null);
    if (!this.#store.shared)
      await pruneJournal(this.#config, this.#store, (staged) => warehouseFile(staged.into) !== null);
    const temporal = await this.#connect();
    const native = await temporal.nativeConnection();
    this.#throwIfClosing();
    const { createWorker, runWorker } = await import('./worker-host.js');
    const create = () =>
      createWorker(this.#config, native, parts.deps, this.#report && runWatch(temporal.client, this.#report));
    // A command creates its worker while the locks are taken, because both take a tenth of a second. If a lock is refused, the worker never
    // runs: the command ends. Locks are refused only on servers that other folders use, too.
    const early =
      this.#config.temporalAddress === null && this.#role === 'command' && !this.#takesOver ? create() : null;
    early?.catch(() => undefined);
    await this.#takeQueueLocks(temporal);
    this.#throwIfClosing();
    // Work of dead commands is handled before this worker can receive any of it.
    await this.#owners.resolveOrphans(this.#role);
    this.#throwIfClosing();
    this.#worker = runWorker(await (early ?? create()));
    this.#owners.watch(this.#role);
    if (this.#store.shared) tryWarehouses(this.#config, this.#store, parts.deps).catch(() => undefined);
    const warning = otherLimitsText(await this.#store.otherLimits());
    if (warning !== null) this.#config.say(warning);
  }

  /** Lets requests in flight land, and releases everything. */
  async drain(): Promise<void> {
    this.#closing = true;
    // Only a takeover is awaited, because a first start may take minutes.
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
    this.#pruning?.stop.abort();
    await this.#pruning?.done;
    await parts?.close();
  }

  async #takeQueueLocks({ client }: Temporal): Promise<void> {
    const { taskQueue, store, temporalAddress } = this.#config;
    this.#locks = takeQueueLocks(client, taskQueue, [queueLockOf(this.#config)], store?.shown ?? null);
    await this.#locks;
    // An embedded server has only the workers of this folder, so no lock is needed there.
    if (temporalAddress !== null) await this.#parts?.reservation?.alsoTake(limitAmongWorkers(client, this.#config));
  }

  #pruneInBackground(isWanted: (staged: StagedJob) => boolean): void {
    const stop = new AbortController();
    const done = pruneJournal(this.#config, this.#store, isWanted, stop.signal).catch(() => undefined);
    this.#pruning = { stop, done };
  }
}

/**
 * Connects to the database of each job that is running or paused. So a refused login is reported before the job has rows to load, with the
 * names of the jobs that wait for another worker.
 */
export async function tryWarehouses(
  { say }: Pick<RuntimeConfig, 'say'>,
  { entries }: Pick<Store, 'entries'>,
  { warehouseFor }: Pick<Parts['deps'], 'warehouseFor'>,
): Promise<void> {
  const byWarehouse = new Map<string, StagedJob[]>();
  for (const { staged, completed, state } of await entries.all()) {
    // A job that was stopped, was cancelled or failed loads nothing until it is started again.
    const isOpen = completed !== staged.generation && (state.phase === 'running' || state.phase === 'paused');
    if (isOpen && warehouseFile(staged.into) === null)
      byWarehouse.set(staged.into, [...(byWarehouse.get(staged.into) ?? []), staged]);
  }
  const trying = [...byWarehouse].map(async ([into, jobs]) => {
    const [staged] = jobs as [StagedJob];
    try {
      await warehouseFor(staged).loadedSlices(staged.job, staged.generation);
    } catch (error) {
      if (!(error instanceof WarehouseBusy) || error.refusal === null) return;
      say(`Jobs into ${into} wait for ${error.refusal.waitsFor}: ${jobs.map(({ job }) => job).join(', ')}.`);
    }
  });
  await Promise.all(trying);
}

/**
 * Removes old answers of done jobs from the journal if the warehouse has all their rows. A warehouse is queried only if there is something
 * to remove. A refused login or an unreachable database is not reported, because the job is done anyway. An abort ends the wait for a
 * database.
 */
export async function pruneJournal(
  config: RuntimeConfig,
  store: Pick<Store, 'entries' | 'journal'>,
  isWanted: (staged: StagedJob) => boolean,
  signal?: AbortSignal,
): Promise<void> {
  const before = Date.now() - config.keepLandingMs;
  const journal = await store.journal();
  const warehouses = openWarehouses({ ...config, say: () => undefined }, false);
  signal?.addEventListener('abort', () => void warehouses.close().catch(() => undefined), { once: true });
  try {
    for (const { staged, completed } of await store.entries.all()) {
      const prefix = `${staged.job}/`;
      if (signal?.aborted) return;
      if (completed !== staged.generation || staged.origin !== config.origin || !isWanted(staged)) continue;
      if (!(await journal.prunable(prefix, before))) continue;
      if ((await loadedSlices(() => warehouses.of(staged), staged)) === staged.slices)
        await journal.prune(prefix, before);
    }
  } finally {
    await warehouses.close();
  }
}

/** The number of loaded slices; null if the warehouse is busy, missing or on another machine. */
async function loadedSlices(warehouse: () => RowWarehouse, staged: StagedJob): Promise<number | null> {
  try {
    return (await warehouse().loadedSlices(staged.job, staged.generation))?.length ?? null;
  } catch {
    return null;
  }
}
