import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { summaryOf } from '../../activities/rows/summarize.js';
import type { Spend } from '../../core/purchase/spend.js';
import type { JobSummary, Resumption, StagedJob } from '../../core/rows/job.js';
import { workflowIdOf } from '../../core/rows/job.js';
import type { JobEntry, WalkEntry, Work } from '../../core/rows/job-entries.js';
import { CANCEL_WAITS, JOB_CANCELLED } from '../../core/rows/pause.js';
import { JobNotLoaded, type WarehouseSummary } from '../../core/rows/row-warehouse.js';
import type { WatchedRun } from '../../core/schedules/schedule.js';
import { isPostgresUrl } from '../../postgres/index.js';
import { whyNoTarget } from '../../warehouse/index.js';
import type {
  EnrichRequest,
  JobHandle,
  JobListing,
  JobPlan,
  JobStatus,
  KnownJob,
  OpenRuntime,
  Reparsed,
  Runtime,
  RuntimeConfig,
} from '../config/runtime-types.js';
import { JobFailed, JobStopped, UsageError, wasCancelled } from '../config/runtime-types.js';
import { walkName } from '../control/find-walk.js';
import { jobStatus, unopenedRun, unopenedRuns, walkState } from '../control/job-status.js';
import type { RuntimeWork } from './runtime-work.js';
import { findJob, findKnownJob, noteCancel, noteState, refuseUnknownJob } from '../staging/find-job.js';
import { openStore } from '../store/open-store.js';
import type { Store } from '../store/store.js';
import { connectIfRunning } from '../temporal-server/running-server.js';
import type { Temporal } from '../temporal-server/temporal.js';
import { loadedStates, type WalkState } from '../warehouse/event-status.js';
import { openWarehouses, type Warehouses } from '../warehouse/warehouses.js';

/**
 * Opens the runtime of a folder, for commands. All parts but the store are opened when they are needed; `plan`, `export` and `summary` need
 * no Temporal server.
 */
export const openRuntime: OpenRuntime = async (config) => new StoreRuntime(config, await openStore(config));

class StoreRuntime implements Runtime {
  readonly #config: RuntimeConfig;
  readonly #store: Store;
  readonly #warehouses: Warehouses;
  #working: Promise<RuntimeWork> | null = null;
  #work: RuntimeWork | null = null;
  #temporal: Promise<Temporal> | null = null;
  #connectedIfRunning: ReturnType<typeof connectIfRunning> | null = null;

  constructor(config: RuntimeConfig, store: Store) {
    this.#config = config;
    this.#store = store;
    this.#warehouses = openWarehouses(config, false);
  }

  get shared(): boolean {
    return this.#store.shared;
  }

  get clientOnly(): boolean {
    return this.#work?.clientOnly ?? false;
  }

  async plan(asked: EnrichRequest): Promise<JobPlan> {
    return (await this.#loadWork()).plan(asked);
  }

  async start(plan: JobPlan): Promise<JobHandle> {
    return (await this.#loadWork()).start(plan);
  }

  async resume(job: string, how: Resumption): Promise<JobHandle> {
    return (await this.#loadWork()).resume(job, how);
  }

  async own(work: Work): Promise<void> {
    await (await this.#loadWork()).own(work);
  }

  async owned(): Promise<readonly Work[]> {
    return this.#work?.owned() ?? [];
  }

  async release(workflowId: string): Promise<void> {
    await this.#work?.release(workflowId);
  }

  async stop(until: Promise<unknown>): Promise<void> {
    await this.#work?.stop(until);
  }

  async reparse(plan: JobPlan): Promise<Reparsed> {
    return (await this.#loadWork()).reparse(plan);
  }

  async attach(job: string): Promise<JobHandle> {
    const entry = await findKnownJob(this.#store.entries, job);
    const unopened = entry === null ? await this.#unopenedRun(job) : null;
    const { staged, workflowId, schedule } =
      entry ??
      (unopened
        ? { staged: null, workflowId: unopened.job, schedule: undefined }
        : await refuseUnknownJob(this.#store.entries, job));
    const [{ jobHandle }, { client }] = await Promise.all([import('../control/job-handle.js'), this.#connect()]);
    if (staged === null) return jobHandle(client, workflowId, workflowId);
    const handle = this.#withCsv(jobHandle(client, staged.job, workflowId, schedule), staged);
    return {
      ...handle,
      cancel: async (how) => {
        await handle.cancel(how);
        const { phase, message } = await this.status(staged.job);
        if (phase === 'waiting' && message === CANCEL_WAITS) await noteCancel(this.#store.entries, entry as JobEntry);
      },
    };
  }

  async checkTargets(job: string, targets: { readonly csv?: string; readonly parquet?: string }): Promise<void> {
    const { staged } = await findJob(this.#store.entries, job);
    for (const kind of ['csv', 'parquet'] as const) {
      const why = targets[kind] === undefined ? null : whyNoTarget(kind, resolve(targets[kind]), staged);
      if (why !== null) throw new UsageError(`--${kind}: ${why}.`);
    }
  }

  async export(job: string, csv: string): Promise<{ rows: number; bytes: number; file: string }> {
    const { staged } = await findJob(this.#store.entries, job);
    const file = resolve(csv);
    return { ...(await this.#warehouses.of(staged).exportCsv(staged.job, file)), file };
  }

  async exportParquet(job: string, dir: string) {
    const { staged } = await findJob(this.#store.entries, job);
    const folder = resolve(dir);
    return { ...(await this.#warehouses.of(staged).exportParquet(staged.job, folder)), folder };
  }

  async summary(job: string): Promise<JobSummary> {
    const startedAt = Date.now();
    const { staged, csv, state } = await findJob(this.#store.entries, job);
    const journal = await this.#store.journal();
    // Recorded counts are preferred, because a count needs DuckDB, and loading DuckDB takes half a second.
    const recorded = isFileGone(staged) ? null : state?.counts;
    const counts = recorded ?? (await this.#counted(staged));
    const totals = await journal.totals(`${staged.job}/`);
    return summaryOf({ staged, csv, counts, totals, before: totals, startedAt });
  }

  /** Counts the rows of a job in its warehouse; if the warehouse does not have the job, all its rows count as missing. */
  async #counted(staged: StagedJob): Promise<WarehouseSummary> {
    try {
      return await this.#warehouses.of(staged).summary(staged.job);
    } catch (error) {
      if (!(error instanceof JobNotLoaded)) throw error;
      const { rows } = staged;
      return { rows, success: 0, error: 0, invalid: 0, missing: rows, vanished: 0, tags: {} };
    }
  }

  async status(job: string): Promise<JobStatus> {
    const entry = await findKnownJob(this.#store.entries, job);
    if (entry === null) return (await this.#unopenedRun(job)) ?? refuseUnknownJob(this.#store.entries, job);
    return (await this.#statuses([entry]))[0] as JobStatus;
  }

  /** A run that an SDK has started and no worker has opened yet; null if there is no such run. See `#unopenedRuns`. */
  async #unopenedRun(name: string): Promise<JobStatus | null> {
    if (this.#config.temporalAddress === null) return null;
    const connected = await this.#connectIfRunning();
    return connected && unopenedRun(connected.client, this.#config.taskQueue, name);
  }

  async #statuses(entries: readonly JobEntry[]): Promise<readonly JobStatus[]> {
    // The embedded server has no runs that the folder does not know, so a job that was recorded as done is done.
    const isAsked = this.#config.temporalAddress !== null || entries.some(({ state }) => state?.phase !== 'done');
    const [connected, owned] = await Promise.all([
      isAsked ? this.#connectIfRunning() : null,
      this.#store.entries.owned(),
    ]);
    const ask = (entry: JobEntry) => {
      const workflowId = entry.workflowId ?? workflowIdOf(entry.staged.job);
      const owners = owned.find((one) => one.workflowId === workflowId) ?? null;
      return jobStatus(entry, workflowId, connected?.client ?? null, owners);
    };
    return Promise.all(entries.map(ask));
  }

  async known(): Promise<readonly KnownJob[]> {
    const rows = [...(await this.#store.entries.all())].reverse();
    return [...rows.map(({ staged }) => knownJob(staged)), ...(await this.#knownWalks())];
  }

  async jobs(): Promise<readonly JobListing[]> {
    const entries = [...(await this.#store.entries.all())].reverse();
    const found = await this.walks();
    const ids = [
      ...entries.map((entry) => entry.workflowId ?? workflowIdOf(entry.staged.job)),
      ...found.map(({ workflowId }) => workflowId),
    ];
    const [statuses, journal, walks, states, unopened] = await Promise.all([
      this.#statuses(entries),
      this.#store.journal(),
      this.#knownWalks(),
      this.#walkStates(found),
      this.#unopenedRuns(new Set(ids)),
    ]);
    const rows = entries.map(async ({ staged }, nth): Promise<JobListing> => {
      const { phase, since } = statuses[nth] as JobStatus;
      const { costMicros } = await journal.totals(`${staged.job}/`);
      return { ...knownJob(staged), rows: staged.rows, phase, since, costMicros };
    });
    const { origin } = this.#config;
    return [
      ...unopened.map(({ job, name, phase, since }) => ({
        ...{ job, name, origin, phase, since },
        ...{ input: null, into: null, rows: null, costMicros: null },
      })),
      ...(await Promise.all(rows)),
      ...walks.map((walk, nth) => ({ ...walk, rows: null, costMicros: null, ...(states[nth] as WalkState) })),
    ];
  }

  /** Runs that no worker has opened yet. The embedded server is used only by the commands of its folder, which record their jobs. */
  async #unopenedRuns(known: ReadonlySet<string>): Promise<readonly JobStatus[]> {
    if (this.#config.temporalAddress === null) return [];
    const connected = await this.#connectIfRunning();
    return connected === null ? [] : unopenedRuns(connected.client, this.#config.taskQueue, known);
  }

  /** Returns the states of walks: those that Temporal knows, otherwise those in their warehouses. */
  async #walkStates(walks: readonly WalkEntry[]): Promise<readonly WalkState[]> {
    if (walks.length === 0) return [];
    const [connected, owned] = await Promise.all([this.#connectIfRunning(), this.#store.entries.owned()]);
    const asked = await Promise.all(
      walks.map((walk) => {
        const abandoned = owned.find(({ workflowId }) => workflowId === walk.workflowId)?.living.length === 0;
        return connected && walkState(connected.client, walk, abandoned);
      }),
    );
    const silent = walks.filter((_, nth) => asked[nth] === null);
    const loaded = await loadedStates(this.#config, silent);
    return walks.map((walk, nth) => asked[nth] ?? (loaded[silent.indexOf(walk)] as WalkState));
  }

  async #knownWalks(): Promise<readonly KnownJob[]> {
    return (await this.walks()).map((walk) => {
      const { job, origin, stream, into } = walk;
      return { job, name: walkName(walk), origin, input: stream, into };
    });
  }

  async walks() {
    return [...(await this.#store.entries.walks())].reverse();
  }

  inFlight(): number {
    return this.#work?.inFlight ?? 0;
  }

  async unknownOutcomes(job: string) {
    const { staged } = await findJob(this.#store.entries, job);
    return (await (await this.#store.journal()).totals(`${staged.job}/`)).unknown;
  }

  limits() {
    return this.#store.limits();
  }

  otherLimits() {
    return this.#store.otherLimits();
  }

  workerElsewhere() {
    const holder = this.#store.holder();
    return holder === process.pid ? null : holder;
  }

  slots() {
    return this.#store.slots();
  }

  spend(): Promise<Spend> {
    return this.#store.journal();
  }

  async workflows(options: { readonly worker?: boolean } = {}) {
    if (options.worker) await (await this.#loadWork()).runHere();
    const { client } = await this.#connect();
    const { shared } = this.#store;
    const allow = async (input: object) => (await this.#loadWork()).allow(input);
    return { client, config: this.#config, shared, allow };
  }

  async takeOver(): Promise<boolean> {
    return (await this.#loadWork()).takeOver();
  }

  async runWorker(running: () => void, report: (run: WatchedRun) => void): Promise<void> {
    await (await this.#loadWork()).runWorker(running, report);
  }

  async close(mode: 'drain' | 'now'): Promise<void> {
    await (await this.#working)?.close(mode);
    await (await this.#connectedIfRunning)?.close().catch(() => undefined);
    // A server that is still starting is awaited only briefly, because the watcher ends a server that no process uses.
    const starting = sleep(STARTING_MS, null, { ref: false });
    const temporal = await Promise.race([this.#temporal?.catch(() => null), starting]);
    await temporal?.close().catch(() => undefined);
    await this.#warehouses.close();
    await this.#store.close();
  }

  /** Staging, worker and their libraries take most of a second to load: commands that only show something do without them. */
  #loadWork(): Promise<RuntimeWork> {
    this.#working ??= import('./runtime-work.js').then(({ RuntimeWork }) => {
      this.#work = new RuntimeWork({
        config: this.#config,
        store: this.#store,
        warehouses: this.#warehouses,
        connect: () => this.#connect(),
        ending: (handle, staged) => this.#withCsv(handle, staged),
      });
      return this.#work;
    });
    return this.#working;
  }

  #connectIfRunning(): ReturnType<typeof connectIfRunning> {
    this.#connectedIfRunning ??= connectIfRunning(this.#config, process.env);
    return this.#connectedIfRunning;
  }

  #connect(): Promise<Temporal> {
    this.#temporal ??= import('../temporal-server/temporal.js').then(({ connectTemporal }) =>
      connectTemporal(this.#config, process.env),
    );
    return this.#temporal;
  }

  /** Extends a handle: its `result` also records the end of the job and writes the CSV, unless a worker has done that. */
  #withCsv(handle: JobHandle, staged: StagedJob): JobHandle {
    return {
      ...handle,
      result: async () => {
        const summary = await handle.result().catch(async (error: unknown) => {
          // The job has no activity left that could record its end.
          if (error instanceof JobFailed || error instanceof JobStopped) {
            const counts = error instanceof JobFailed ? await this.#countedHere(staged) : null;
            await noteState(this.#store.entries, staged, {
              phase: error instanceof JobStopped ? 'stopped' : wasCancelled(error) ? 'cancelled' : 'failed',
              ...(error.message === JOB_CANCELLED ? {} : { message: error.message }),
              since: Date.now(),
              ...(counts ? { counts } : {}),
            }).catch(() => undefined);
          }
          throw error;
        });
        const entry = await this.#store.entries.get(staged.job);
        return { ...summary, csv: summary.csv ?? (await this.#csvHere(staged, entry?.csv ?? null)) };
      },
    };
  }

  /**
   * Counts the rows of an ended job if this process runs the worker and so has the warehouse open; null if counting takes long or fails.
   */
  async #countedHere(staged: StagedJob): Promise<WarehouseSummary | null> {
    if (this.#work === null || this.clientOnly) return null;
    const counting = this.#counted(staged).catch(() => null);
    return Promise.race([counting, sleep(COUNT_MS, null, { ref: false })]);
  }

  /** Writes the CSV of a job of a shared store, whose workers may be on other machines, if the CSV's folder exists on this machine. */
  async #csvHere(staged: StagedJob, csv: string | null): Promise<string | null> {
    if (csv === null || !this.#store.shared || !existsSync(dirname(csv))) return null;
    const { rows, file } = await this.export(staged.job, csv);
    if (rows >= staged.rows) return file;
    throw new Error(
      `${file} has ${rows} of ${staged.rows} rows, because the warehouse has lost some. Run the same command again`,
    );
  }
}

/** Longest wait for the counts of a job that has ended. */
const COUNT_MS = 2000;

/** Longest wait, on closing, for a server that is still starting. */
const STARTING_MS = 1000;

/** Whether the warehouse of a job is a file of this machine that does not exist. */
const isFileGone = ({ into, host = hostname() }: StagedJob): boolean =>
  !isPostgresUrl(into) && host === hostname() && !existsSync(into);

const knownJob = ({ job, name, origin, input, into }: StagedJob): KnownJob => ({ job, name, origin, input, into });
