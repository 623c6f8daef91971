import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { summarize } from '../activities/rows/job.js';
import { freshnessOf } from '../core/purchase/freshness.js';
import { pricesAt } from '../core/purchase/prices.js';
import type { Spend } from '../core/purchase/spend.js';
import type { EnrichCsvInput, JobSummary, Resumption, StagedJob } from '../core/rows/job.js';
import { workflowIdOf, workflowNames } from '../core/rows/job.js';
import type { Work } from '../core/rows/job-entries.js';
import { entryAfter, type JobEntry, type Owner, type WalkEntry } from '../core/rows/job-entries.js';
import type { WatchedRun } from '../core/schedules/schedule.js';
import { isPostgresUrl } from '../postgres/index.js';
import { whyNoTarget } from '../warehouse/index.js';
import { allowedBy } from './config/allowlist.js';
import { rateProfileOf } from './config/rate-setting.js';
import type {
  EnrichRequest,
  JobHandle,
  JobListing,
  JobPlan,
  JobStatus,
  KnownJob,
  OpenRuntime,
  Runtime,
  RuntimeConfig,
} from './config/runtime-types.js';
import { JobFailed, JobStopped, UsageError, wasCancelled } from './config/runtime-types.js';
import { walkName } from './control/find-walk.js';
import { jobHandle } from './control/job-handle.js';
import { jobStatus, walkState } from './control/job-status.js';
import { runningFor, startReason } from './control/running-job.js';
import { startedByCommand, WorkOwners } from './control/work-owners.js';
import { folderTaken, openTransport } from './host/parts.js';
import { WorkerHere } from './host/worker-here.js';
import { findJob, noteState, refuseOtherUse } from './staging/find-job.js';
import { makePlan, requestText } from './staging/plan.js';
import { reparse } from './staging/reparse.js';
import { forgetEarlierStages, stageEnrichment } from './staging/stage-job.js';
import { openStore } from './store/open-store.js';
import type { Store } from './store/store.js';
import { connectIfRunning, connectTemporal, type Temporal } from './temporal-server/temporal.js';
import { loadedStates, type WalkState } from './warehouse/event-status.js';
import { openWarehouses, type Warehouses } from './warehouse/warehouses.js';

/**
 * Opens the runtime of a folder, for commands. All parts but the store are opened when they are needed; `plan`, `export` and `summary` need
 * no Temporal server.
 */
export const openRuntime: OpenRuntime = async (config) => new StoreRuntime(config, await openStore(config));

class StoreRuntime implements Runtime {
  readonly #config: RuntimeConfig;
  readonly #store: Store;
  readonly #warehouses: Warehouses;
  readonly #owners: WorkOwners;
  readonly #here: WorkerHere;
  #temporal: Promise<Temporal> | null = null;
  #connectedIfRunning: ReturnType<typeof connectIfRunning> | null = null;

  constructor(config: RuntimeConfig, store: Store) {
    this.#config = config;
    this.#store = store;
    this.#warehouses = openWarehouses(config, false);
    this.#owners = new WorkOwners(config, store, async () => (await this.#connect()).client);
    this.#here = new WorkerHere(config, store, () => this.#connect(), this.#owners);
  }

  get shared(): boolean {
    return this.#store.shared;
  }

  get clientOnly(): boolean {
    return this.#here.refused;
  }

  async plan(asked: EnrichRequest): Promise<JobPlan> {
    const transport = openTransport(this.#config);
    try {
      const jobs = () => this.#store.entries.all();
      const context = { ...this.#config, shared: this.#store.shared, cwd: process.cwd(), transport, jobs };
      const { staged, manifest, before, request: kept } = await stageEnrichment(context, asked);
      const request = { ...asked, ...kept };
      const plan = await makePlan({
        staged,
        manifest,
        asked,
        request,
        before,
        journal: await this.#store.journal(),
        warehouse: this.#warehouses.of(staged),
        rate: rateProfileOf(this.#config),
        prices: pricesAt(Date.now(), this.#config.prices),
        maxCostPerJobMicros: this.#config.maxCostPerJobMicros ?? null,
        now: Date.now(),
      });
      return this.#store.shared && !isPostgresUrl(staged.into) ? { ...plan, notes: [...plan.notes, oneMachine] } : plan;
    } finally {
      await transport.close();
    }
  }

  async start(plan: JobPlan): Promise<JobHandle> {
    const { staged } = plan;
    const work: Work = { job: staged.job, workflowId: workflowIdOf(staged.job) };
    let claimed = await this.#claimJob(work, plan);
    try {
      await this.#here.run();
      const { client } = await this.#connect();
      const handle = jobHandle(client, staged.job);
      for (let reported = false; claimed.owner !== null; claimed = await this.#claimJob(work, plan)) {
        if (!reported) this.#config.say(watchText(staged, claimed.owner));
        reported = true;
        const running = await runningFor(client, handle);
        if (running?.generation === staged.generation && running.limit === (staged.limit ?? null))
          return this.#withCsv(handle, staged);
        await delay(START_POLL_MS);
      }
      forgetEarlierStages(staged);
      return await this.#startOwned(plan, handle, claimed.before);
    } catch (error) {
      // Nothing runs under the entry that this command made, so the earlier one is restored.
      const entry = { job: staged.job, now: claimed.before };
      if (claimed.owner === null)
        await this.#store.entries.claim(work.workflowId, ({ owned }) => ({ owned, entry })).catch(() => undefined);
      throw error;
    }
  }

  /** Makes this command the owner of the job and writes its entry, in one step; or a watcher if another command owns it. */
  #claimJob(work: Work, { staged, request }: JobPlan) {
    const csv = request.csv === null ? null : resolve(request.csv);
    const freshness = freshnessOf(request, Date.now());
    const asked = {
      ...boundsOf(request),
      ...(freshness ? { freshness } : {}),
    };
    return this.#owners.claim(work, ({ jobs }, owner) => {
      const named = request.job !== null;
      refuseOtherUse(staged, named, jobs);
      const before = jobs.find((one) => one.staged.job === staged.job) ?? null;
      if (owner !== null) {
        const was = before?.staged;
        if (was && (was.generation !== staged.generation || was.limit !== staged.limit))
          throw new UsageError(otherUseText(staged, owner));
        return { before };
      }
      const state = { phase: 'running' as const, since: Date.now() };
      const now = { staged, named, csv, completed: before?.completed ?? null, state, asked };
      return { before, entry: { job: staged.job, now: entryAfter(before, now) } };
    });
  }

  async #startOwned({ staged, request }: JobPlan, handle: JobHandle, before: JobEntry | null): Promise<JobHandle> {
    const { client } = await this.#connect();
    const maxCost = request.maxCostDollars === undefined ? {} : { maxCostDollars: request.maxCostDollars };
    const freshness = freshnessOf(request, Date.now());
    const why = await startReason({
      client,
      handle,
      staged,
      asksMore: freshness !== undefined,
      shared: this.#store.shared,
      warehouse: () => (this.clientOnly ? null : this.#warehouses.of(staged)),
    });
    if (why === null) {
      await this.#owners.leaveToWorkers(handle);
      await handle.resume(maxCost);
      return this.#withCsv(handle, staged);
    }
    if (why !== '') {
      this.#config.say(why);
      // Agent runs of unchanged requests are handed over; those of changed requests are cancelled.
      await handle.cancel({ handOver: before !== null && requestText(before.staged) === requestText(staged) });
      await handle.result().catch(() => undefined);
    }
    await this.#store.stages.share(staged);
    const csv = request.csv === null ? null : resolve(request.csv);
    await this.#startWorkflow(
      handle.workflowId,
      staged,
      { ...boundsOf(request), ...(freshness ? { freshness } : {}) },
      csv,
    );
    return this.#withCsv(handle, staged);
  }

  async #startWorkflow(
    workflowId: string,
    staged: StagedJob,
    asked: JobEntry['asked'],
    csv: string | null,
  ): Promise<void> {
    const input: EnrichCsvInput = {
      input: staged.input,
      urlColumn: staged.unitColumn ?? '',
      staged,
      // In a shared store any worker may end the job and would write the file on its own machine.
      ...(csv === null || this.#store.shared ? {} : { csv }),
      ...asked,
    };
    const { client } = await this.#connect();
    this.#owners.check();
    try {
      await client.workflow.start(workflowNames.enrichCsv, {
        workflowId,
        taskQueue: this.#config.taskQueue,
        args: [input],
        memo: {
          ...{ generation: staged.generation, host: staged.host ?? null, limit: staged.limit ?? null },
          ...startedByCommand,
        },
      });
    } catch (error) {
      // A schedule has started the job first, so this command watches it.
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      await this.#owners.leaveToWorkers({ workflowId });
    }
  }

  async resume(job: string, how: Resumption): Promise<JobHandle> {
    const {
      staged,
      workflowId = workflowIdOf(staged.job),
      csv,
      completed,
      asked = {},
    } = await findJob(this.#store.entries, job);
    const { owner } = await this.#owners.claim({ job: staged.job, workflowId }, () => ({}));
    await this.#here.run();
    const { client } = await this.#connect();
    const handle = jobHandle(client, staged.job, workflowId);
    if ((await runningFor(client, handle)) !== null) {
      await this.#owners.leaveToWorkers(handle);
      await handle.resume(how);
    } else if (completed === staged.generation)
      throw new UsageError(`${staged.job} is done. Run its command again to buy changed rows`);
    else if (owner === null) await this.#startWorkflow(workflowId, staged, { ...asked, ...how }, csv);
    else throw new UsageError(`Another command (PID ${owner.pid} on ${owner.host}) is starting ${staged.job}`);
    return this.#withCsv(handle, staged);
  }

  async own(work: Work): Promise<void> {
    await this.#owners.claim(work, () => ({}));
    await this.#here.run();
    await this.#owners.leaveToWorkers(work);
  }

  owned(): Promise<readonly Work[]> {
    return this.#owners.owned();
  }

  release(workflowId: string): Promise<void> {
    return this.#owners.release(workflowId);
  }

  stop(until: Promise<unknown>): Promise<void> {
    return this.#owners.stop('its command was stopped', until);
  }

  async attach(job: string): Promise<JobHandle> {
    const { staged, workflowId } = await findJob(this.#store.entries, job);
    return this.#withCsv(jobHandle((await this.#connect()).client, staged.job, workflowId), staged);
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

  async reparse({ staged }: JobPlan) {
    return reparse(this.#warehouses.of(staged), staged, join(this.#config.stateDir, 'scratch'));
  }

  async exportParquet(job: string, dir: string) {
    const { staged } = await findJob(this.#store.entries, job);
    const folder = resolve(dir);
    return { ...(await this.#warehouses.of(staged).exportParquet(staged.job, folder)), folder };
  }

  async summary(job: string): Promise<JobSummary> {
    const { staged, csv } = await findJob(this.#store.entries, job);
    const deps = {
      journal: await this.#store.journal(),
      warehouseFor: (of: StagedJob) => this.#warehouses.of(of),
    };
    const summary = await summarize(deps, { staged, csv: null, startedAt: Date.now(), before: null });
    return { ...summary, csv };
  }

  async status(job: string): Promise<JobStatus> {
    const entry = await findJob(this.#store.entries, job);
    return (await this.#statuses([entry]))[0] as JobStatus;
  }

  async #statuses(entries: readonly JobEntry[]): Promise<readonly JobStatus[]> {
    this.#connectedIfRunning ??= connectIfRunning(this.#config, process.env);
    const [connected, owned] = await Promise.all([this.#connectedIfRunning, this.#store.entries.owned()]);
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
    const [statuses, journal, walks, states] = await Promise.all([
      this.#statuses(entries),
      this.#store.journal(),
      this.#knownWalks(),
      this.#walkStates(found),
    ]);
    const rows = entries.map(async ({ staged }, nth): Promise<JobListing> => {
      const { phase, since } = statuses[nth] as JobStatus;
      const { costMicros } = await journal.totals(`${staged.job}/`);
      return { ...knownJob(staged), rows: staged.rows, phase, since, costMicros };
    });
    return [
      ...(await Promise.all(rows)),
      ...walks.map((walk, nth) => ({ ...walk, rows: null, costMicros: null, ...(states[nth] as WalkState) })),
    ];
  }

  /** Returns the states of walks as Temporal knows them, else as their warehouses do. */
  async #walkStates(walks: readonly WalkEntry[]): Promise<readonly WalkState[]> {
    this.#connectedIfRunning ??= connectIfRunning(this.#config, process.env);
    const [connected, owned] = await Promise.all([this.#connectedIfRunning, this.#store.entries.owned()]);
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
    return this.#here.parts?.inFlight.sent ?? 0;
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
    if (options.worker) await this.#here.run();
    const { client } = await this.#connect();
    const { entries, shared } = this.#store;
    return { client, config: this.#config, shared, allow: (input: object) => entries.allow(allowedBy(input)) };
  }

  takeOver(): Promise<boolean> {
    return this.#here.takeOver();
  }

  async runWorker(running: () => void, report: (run: WatchedRun) => void): Promise<void> {
    await this.#here.run('worker', report);
    if (!this.#here.ended) throw new UsageError(folderTaken(this.#config, this.#store));
    running();
    await this.#here.ended;
  }

  async close(mode: 'drain' | 'now'): Promise<void> {
    if (mode === 'drain') await this.#here.drain();
    // If the owners cannot be read now, the work stays with this command.
    if (mode === 'drain') await this.#owners.close().catch(() => undefined);
    await (await this.#connectedIfRunning)?.close().catch(() => undefined);
    const temporal = await this.#temporal?.catch(() => null);
    await temporal?.close().catch(() => undefined);
    await this.#warehouses.close();
    await this.#store.close();
  }

  #connect(): Promise<Temporal> {
    this.#temporal ??= connectTemporal(this.#config, process.env);
    return this.#temporal;
  }

  /** Adds to a handle that its result records the end of the job and writes the CSV, if no worker has done so. */
  #withCsv(handle: JobHandle, staged: StagedJob): JobHandle {
    return {
      ...handle,
      result: async () => {
        const summary = await handle.result().catch(async (error: unknown) => {
          // The job has no activity left that could record this.
          if (error instanceof JobFailed || error instanceof JobStopped)
            await noteState(this.#store.entries, staged, {
              phase: error instanceof JobStopped ? 'stopped' : wasCancelled(error) ? 'cancelled' : 'failed',
              message: error.message,
              since: Date.now(),
            }).catch(() => undefined);
          throw error;
        });
        const entry = await this.#store.entries.get(staged.job);
        return { ...summary, csv: summary.csv ?? (await this.#csvHere(staged, entry?.csv ?? null)) };
      },
    };
  }

  /** Writes the CSV of a job of a shared store, whose workers may be on other machines, if its folder exists here. */
  async #csvHere(staged: StagedJob, csv: string | null): Promise<string | null> {
    if (csv === null || !this.#store.shared || !existsSync(dirname(csv))) return null;
    const { rows, file } = await this.export(staged.job, csv);
    if (rows >= staged.rows) return file;
    throw new Error(
      `${file} has ${rows} of ${staged.rows} rows, because the warehouse has lost some. Run the same command again`,
    );
  }
}

const oneMachine =
  'The warehouse is a file, so only workers on this machine can load it. For workers on several machines, use a database (--into postgres://…).';

const knownJob = ({ job, name, origin, input, into }: StagedJob): KnownJob => ({ job, name, origin, input, into });

/** Interval at which a watching command checks whether the other one has started the job. */
const START_POLL_MS = 250;

const watchText = ({ job }: StagedJob, { pid, host }: Owner): string =>
  `Another command (PID ${pid} on ${host}) is running ${job}. Watching it; this command takes over if that one dies.`;

const otherUseText = ({ job }: StagedJob, { pid, host }: Owner): string =>
  `Another command (PID ${pid} on ${host}) is running ${job} with other rows or options. Wait until it ends, or stop it`;

/** The limits of a run of a job. */
function boundsOf({
  maxCostDollars,
  maxRunSeconds,
}: EnrichRequest): Pick<EnrichCsvInput, 'maxCostDollars' | 'maxRunSeconds'> {
  return {
    ...(maxCostDollars === undefined ? {} : { maxCostDollars }),
    ...(maxRunSeconds === undefined ? {} : { maxRunSeconds }),
  };
}
