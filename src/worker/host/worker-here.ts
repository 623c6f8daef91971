import { setTimeout as delay } from 'node:timers/promises';
import type { Info } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { CodedError } from '../../core/errors/coded-error.js';
import type { StagedJob } from '../../core/job-entry-schemas.js';
import { deferred } from '../../core/processes/deferred.js';
import { isUnfinished } from '../../core/rows/job-entries.js';
import { jobOfWorkflow } from '../../core/rows/job-ids.js';
import { workflowNames } from '../../core/rows/job-names.js';
import { WarehouseBusy } from '../../core/rows/warehouse-errors.js';
import type { WatchedRun } from '../../core/workflow-result-schemas.js';
import { warehouseFile } from '../../warehouse/index.js';
import { type RuntimeConfig, UsageError } from '../config/runtime-types.js';
import { busyOn } from '../control/temporal-status.js';
import { passOnWork } from '../control/wake-work.js';
import type { WorkOwners } from '../control/work-owners.js';
import { dataConverterOf } from '../data-converter/data-converter.js';
import { awaitEnd } from '../schedules/schedule-view.js';
import { pruneJournal } from '../store/prune-journal.js';
import type { Store } from '../store/store.js';
import { identityOf, otherLimitsText, recordId } from '../store/team.js';
import { Pollers, standHere } from '../temporal-server/pollers.js';
import type { ServerAccess } from '../temporal-server/temporal.js';
import { assembleParts, type Parts } from './parts.js';
import type * as WorkerHost from './worker-host.js';
import type { RunningWorker, StatusServer } from './worker-host.js';

/** A command runs the worker for its own work, until it ends; a worker (`worker`, `dev`) stands on its own. */
export type Role = 'command' | 'worker';

/** Interval at which a command tries to run the worker of the folder, while another process runs it. */
const STAND_BY_MS = 1000;
/** Most runs of others that a command names. */
const MOST_NAMED = 5;

export class WorkerHere {
  readonly #config: RuntimeConfig;
  readonly #store: Store;
  readonly #server: ServerAccess;
  readonly #owners: WorkOwners;
  #role: Role = 'command';
  #report: ((run: WatchedRun) => void) | null = null;
  #parts: Parts | null = null;
  #worker: RunningWorker | null = null;
  #refused: 'folder' | 'version' | null = null;
  #starting: Promise<void> | null = null;
  #pruning: { readonly stop: AbortController; readonly done: Promise<void> } | null = null;
  #status: StatusServer | null = null;
  #standing: ReturnType<typeof standHere> | null = null;
  readonly #closing = new AbortController();
  #standingBy: Promise<void> | null = null;
  readonly #prepared = deferred<void>();

  constructor(config: RuntimeConfig, store: Store, server: ServerAccess, owners: WorkOwners) {
    this.#config = config;
    this.#store = store;
    this.#server = server;
    this.#owners = owners;
  }

  /**
   * Why this process is only a client: another process of the folder runs the worker (`folder`), or the workers of the task queue have
   * versions (`version`); null: it is not.
   */
  get refused(): 'folder' | 'version' | null {
    return this.#refused;
  }

  /** Resolves once the worker may run, because no other worker and no earlier work is in its way; the worker may not be created yet. */
  get prepared(): Promise<void> {
    return this.#prepared.promise;
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
    this.#server.connect().catch(() => undefined);
    await this.#startOnce();
    if (this.#refused === 'folder' && role === 'command') this.#standingBy ??= this.#standBy();
  }

  /** Runs the worker once the process of the folder that runs it has ended, so that the work which this command watches continues. */
  async #standBy(): Promise<void> {
    const { say } = this.#config;
    const { signal } = this.#closing;
    say("Another process is running this folder's worker. Standing by to take over.");
    while (this.#refused === 'folder' && !signal.aborted) {
      await delay(STAND_BY_MS, undefined, { signal, ref: false }).catch(() => undefined);
      try {
        if (!signal.aborted) await this.#startOnce();
      } catch (error) {
        // The lock is released for another attempt or process.
        this.#refused = 'folder';
        await this.#release();
        if (!signal.aborted) say(`Cannot take over yet: ${error instanceof Error ? error.message : error}`);
      }
    }
    if (this.#refused === null) say("That process has ended. This one is running the folder's worker now.");
  }

  /** Allows one start at a time, because a second one would find the lock held by the first. */
  #startOnce(): Promise<void> {
    this.#starting ??= this.#start().finally(() => {
      this.#starting = null;
    });
    return this.#starting;
  }

  async #start(): Promise<void> {
    const isExternal = this.#config.temporalAddress !== null;
    // Checked before the store records this process as a worker of the task queue.
    if (this.#role === 'command' && isExternal && (await this.#isVersioned())) return;
    const working = await this.#store.work();
    this.#refused = working === null ? 'folder' : null;
    if (working === null) return;
    if (this.#role === 'worker' && !this.#store.shared) this.#standing = standHere(this.#config);
    // The process of the server is started before the libraries of the worker are loaded, because loading blocks this process.
    await this.#server.awaitAnswer();
    const host = await import('./worker-host.js');
    if (this.#config.metricsAddress) this.#status = await this.#serveStatus(this.#config.metricsAddress, host);
    await host.installRuntime(this.#config);
    const parts = await assembleParts(this.#config, this.#store, working);
    this.#parts = parts;
    // A database that cannot be reached would delay the start for minutes, so only files are awaited.
    this.#pruneInBackground((staged) => this.#store.shared || warehouseFile(staged.into) === null);
    if (!this.#store.shared)
      await pruneJournal(this.#config, this.#store, (staged) => warehouseFile(staged.into) !== null);
    // The worker of a command ends with it, so it never becomes a version of the deployment.
    const deployment = this.#role === 'worker' && isExternal ? (this.#config.deployment ?? null) : null;
    const pollers = new Pollers(this.#config);
    const temporal = await this.#server.connect();
    this.#throwIfClosing();
    await pollers.check(temporal.client);
    this.#throwIfClosing();
    // Work of dead commands is handled before this worker can receive any of it.
    await this.#owners.endOrphans();
    if (this.#role === 'command') this.#nameOthers(temporal.client).catch(() => undefined);
    // This process holds the lock of its folder and polls nothing yet, so no worker of the folder is alive.
    if (!this.#store.shared)
      await passOnWork(temporal.client, this.#config.taskQueue, identityOf(recordId(this.#config), ''));
    this.#throwIfClosing();
    this.#prepared.resolve();
    const [connection, dataConverter] = await Promise.all([
      temporal.nativeConnection(),
      dataConverterOf(this.#config, false),
    ]);
    const watch = this.#report && runWatch(temporal.client, this.#report);
    const made = { dataConverter, deployment, watch, pollers };
    this.#worker = host.runWorker(await host.createWorker(this.#config, connection, parts.activities, made), pollers);
    await pollers.admitted;
    this.#owners.watch();
    parts.watchTemporal(temporal.client);
    if (this.#store.shared) tryWarehouses(this.#config, this.#store, parts.deps).catch(() => undefined);
    const warning = otherLimitsText(await this.#store.otherLimits());
    if (warning !== null) this.#config.say(warning);
  }

  /** Reports the jobs and walks of schedules and other clients, which continue while this command does its own work. */
  async #nameOthers(client: Client): Promise<void> {
    const [running, owned] = await Promise.all([busyOn(client, this.#config.taskQueue), this.#store.entries.owned()]);
    const others = running.filter((one) => !owned.some(({ workflowId }) => workflowId === one)).map(jobOfWorkflow);
    if (others.length === 0) return;
    const more = others.length > MOST_NAMED ? ' and more' : '';
    this.#config.say(
      `Also running here, for schedules or other clients: ${others.slice(0, MOST_NAMED).join(', ')}${more}.`,
    );
  }

  /**
   * Whether the workers of the task queue have versions. They alone get its work, so the command is their client. Throws `UsageError` if
   * they cannot read the state folder of the command.
   */
  async #isVersioned(): Promise<boolean> {
    // The worker of this folder has its rows, whatever its version is.
    if (!this.#store.shared && this.#store.holder() !== null) return false;
    const { taskQueue, say } = this.#config;
    const version = await currentVersion((await this.#server.connect()).client, taskQueue);
    if (version === null) return false;
    const workers = `the workers of task queue ${taskQueue} have versions (current: ${version})`;
    if (!this.#store.shared)
      throw new UsageError(
        'task-queue-in-use',
        `This command cannot run its work here: ${workers}. Let both share a PostgreSQL store (SEARCHFLOW_STORE=postgres://…), or use another task queue (SEARCHFLOW_TASK_QUEUE).`,
      );
    if (this.#refused !== 'version') say(`This command watches: ${workers}, and run its work.`);
    this.#refused = 'version';
    return true;
  }

  /** Lets requests in flight land, and releases everything. */
  async drain(): Promise<void> {
    this.#closing.abort();
    // Only a takeover is awaited, because a first start may take minutes.
    await this.#standingBy;
    if (this.#role === 'command' && this.#worker?.isRunning()) await this.#parts?.sendAlerts();
    // A worker that failed by itself has nothing left to drain.
    await this.#worker?.stop().catch(() => undefined);
    await this.#release();
  }

  /** Null if a command runs in the environment of a worker, for example in its container: the worker keeps the address. */
  async #serveStatus(address: string, host: typeof WorkerHost): Promise<StatusServer | null> {
    try {
      return await host.serveStatus(address, {
        exporterPort: host.exporterPort,
        whyNotReady: () => this.#whyNotReady(),
      });
    } catch (error) {
      if (!(error instanceof host.AddressInUse) || this.#role !== 'command') throw error;
      this.#config.say(`This command serves no metrics: another process uses ${address} (SEARCHFLOW_METRICS).`);
      return null;
    }
  }

  #whyNotReady(): string | null {
    if (this.#closing.signal.aborted) return 'draining';
    if (this.#worker === null) return 'starting';
    return this.#worker.isRunning() ? null : 'the worker has ended';
  }

  #throwIfClosing(): void {
    if (this.#closing.signal.aborted) throw new CodedError('interrupted', 'The worker was stopped while it started');
  }

  async #release(): Promise<void> {
    const parts = this.#parts;
    this.#parts = null;
    this.#pruning?.stop.abort();
    await this.#pruning?.done;
    await parts?.close();
    const status = this.#status;
    this.#status = null;
    await status?.close();
    this.#standing?.release();
    this.#standing = null;
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
    const isOpen = completed !== staged.generation && isUnfinished({ state });
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

/** Most runs whose end is awaited, each by a request that waits at the server. Of further runs only the start is reported. */
const MOST_FOLLOWED = 100;

/** Reports each run when its first activity runs here. Also reports the end of the run, even if the run ends on another worker. */
export function runWatch(client: Client, report: (run: WatchedRun) => void): ActivityInterceptorsFactory {
  const known = new Set<string>();
  let followed = 0;
  const watch = async ({ workflowExecution, workflowType }: Info): Promise<void> => {
    if (!workflowExecution || !workflowType || workflowType === workflowNames.deliverAlert) return;
    const { workflowId, runId } = workflowExecution;
    // A run that continues as new keeps its workflow id.
    if (known.has(workflowId)) return;
    known.add(workflowId);
    const run = { job: jobOfWorkflow(workflowId), workflowType };
    report({ ...run, phase: 'running', message: null, summary: null });
    if (followed >= MOST_FOLLOWED) return void known.delete(workflowId);
    followed++;
    try {
      report({ ...run, ...(await awaitEnd(client.workflow.getHandle(workflowId, runId))) });
    } finally {
      followed--;
      known.delete(workflowId);
    }
  };
  return ({ info }) => ({
    inbound: {
      execute: (input, next) => {
        // If the server cannot be reached, the end is not reported; the run itself continues.
        watch(info).catch(() => undefined);
        return next(input);
      },
    },
  });
}

/** Kind of a task queue in Temporal's API: workflow tasks. */
const WORKFLOW_TASKS = 1;

/**
 * The current version of the workers of a task queue, such as `build 7 of searchflow`; null without Worker Versioning. Only workers of this
 * version get new work.
 */
async function currentVersion(client: Client, taskQueue: string): Promise<string | null> {
  const { versioningInfo } = await client.workflowService.describeTaskQueue({
    namespace: client.options.namespace,
    taskQueue: { name: taskQueue },
    taskQueueType: WORKFLOW_TASKS,
  });
  const { deploymentName, buildId } = versioningInfo?.currentDeploymentVersion ?? {};
  return buildId ? `build ${buildId} of ${deploymentName}` : null;
}
