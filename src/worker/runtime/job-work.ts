import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import type { JobEntry, Owner, StagedJob } from '../../core/job-entry-schemas.js';
import { freshnessOf } from '../../core/purchase/freshness.js';
import type { PublishStep, Resumption } from '../../core/row-job-schemas.js';
import { boundsOf } from '../../core/rows/job.js';
import { entryAfter, type Work } from '../../core/rows/job-entries.js';
import { workflowIdOf } from '../../core/rows/job-ids.js';
import { startedByUs, workflowNames } from '../../core/rows/job-names.js';
import { some } from '../../core/text/count.js';
import { staticSummary } from '../../core/text/static-summary.js';
import type { WatchedRun } from '../../core/workflow-result-schemas.js';
import { loadDuckDb, warehouseFile } from '../../warehouse/index.js';
import { allowedBy } from '../config/allowlist.js';
import {
  type EnrichRequest,
  type JobPlan,
  type Ownership,
  type RetryPlan,
  UsageError,
} from '../config/runtime-types.js';
import { ENDS_FIRST, type JobHandle, RowJobHandle, runningFor, whyEndFirst } from '../control/job-handle.js';
import { startedByCommand, WorkOwners } from '../control/work-owners.js';
import { noteEndOfWalk } from '../control/workflow-handle.js';
import { folderTaken, openTransport } from '../host/parts.js';
import { WorkerHere } from '../host/worker-here.js';
import { refuseLocalTarget } from '../schedules/schedule-rows.js';
import { findJob, findKnownJob, forgetCancel, noteState, refuseOtherUse } from '../staging/find-job.js';
import { keepsRequests, planJob } from '../staging/plan.js';
import { reparse } from '../staging/reparse.js';
import { askedOf, forgetEarlierStages, type RunOfJob, stagingIn, toRunInput } from '../staging/stage-job.js';
import { requireWorkers } from '../temporal-server/pollers.js';
import { withJobEnd } from './job-end.js';
import type { RuntimeParts } from './runtime-parts.js';

/**
 * The part of a runtime that stages and starts jobs and runs a worker. It is loaded when a command first needs it, because its libraries take
 * most of a second to load.
 */
export class JobWork {
  readonly #parts: RuntimeParts;
  readonly owners: WorkOwners;
  readonly here: WorkerHere;
  readonly #closing = new AbortController();
  /** The last plan; resolves when it ends. */
  #planning: Promise<unknown> = Promise.resolve();

  constructor(parts: RuntimeParts) {
    this.#parts = parts;
    const { config, store } = parts;
    this.owners = new WorkOwners(config, store, async () => (await parts.connect()).client);
    this.here = new WorkerHere(config, store, parts, this.owners);
  }

  /** Reads and stages the input, and returns a preview of a run. Buys nothing, and needs no Temporal server. */
  plan(asked: EnrichRequest): Promise<JobPlan> {
    const plan = this.#plan(asked);
    this.#planning = plan.catch(() => undefined);
    return plan;
  }

  async #plan(asked: EnrichRequest): Promise<JobPlan> {
    const { config, store } = this.#parts;
    const transport = openTransport(config);
    const context = { ...stagingIn(config, store, transport), signal: this.#closing.signal };
    return planJob(this.#parts, context, asked).finally(() => transport.close());
  }

  /** Makes this command the owner of work that it is about to start, or a watcher if another command owns it; runs the worker here. */
  async own(work: Work): Promise<void> {
    await this.owners.claim(work, () => ({}));
    await this.here.run();
    await this.owners.leaveToWorkers(work);
  }

  /**
   * Throws `UsageError` if work cannot belong to the workers from its start: no worker runs that does not end with a command, or another
   * command owns `work`.
   */
  async checkDetached(work?: Work): Promise<void> {
    const { connectIfRunning } = this.#parts;
    await requireWorkers(this.#parts.config, this.#parts.store.shared, connectIfRunning);
    const owner = work && (await this.owners.ownerOf(work));
    if (work && owner) throw new UsageError('job-running', notDetachedText(work, owner));
  }

  /** Starts a job, resumes it if it is paused, or attaches to it if it is running. Starts server and worker as needed. */
  async start(plan: JobPlan, { detached = false }: Ownership = {}): Promise<JobHandle> {
    const { staged } = plan;
    const work: Work = { job: staged.job, workflowId: workflowIdOf(staged.job) };
    const { request } = plan;
    const csv = csvOf(request);
    const asked = askedOf(request, freshnessOf(request, Date.now()));
    const typed = { input: staged.input, into: staged.into, csv, publish: request.publish?.to };
    await this.#parts.store.entries.allow(allowedBy(typed));
    const claim = () => this.#claimJob(work, plan, asked);
    let claimed = await claim();
    try {
      // DuckDB is loaded while the server starts. If it cannot be loaded, its first use says so.
      if (warehouseFile(staged.into) !== null && !detached)
        this.#parts
          .awaitAnswer()
          .then(() => (this.here.refused ? null : loadDuckDb()))
          .catch(() => undefined);
      const running = detached ? null : this.here.run();
      // The warehouse is made while the worker is created. If it cannot be made, its first use says so.
      if (running)
        Promise.race([running, this.here.prepared])
          .then(() => (this.here.refused ? null : this.#parts.warehouses.of(staged).make()))
          .catch(() => undefined);
      await running;
      const { client } = await this.#parts.connect();
      const handle = new RowJobHandle(client, staged.job);
      for (let reported = false; claimed.owner !== null; claimed = await claim()) {
        if (detached) throw new UsageError('job-running', notDetachedText(staged, claimed.owner));
        if (!reported)
          this.#parts.config.say(
            `${runsIt(staged, claimed.owner)}. Watching it; this command takes over if that one dies.`,
          );
        reported = true;
        const running = await runningFor(client, handle);
        if (running?.generation === staged.generation && running.limit === (staged.limit ?? null))
          return this.ending(handle, staged, () => this.#startsAgain(handle));
        await delay(START_POLL_MS);
      }
      forgetEarlierStages(staged);
      const started = await this.#startOwned(plan, handle, asked, claimed.before, detached);
      if (detached) await this.owners.release(work.workflowId);
      return started;
    } catch (error) {
      if (claimed.owner === null) await this.#restore(work, claimed.before);
      throw error;
    }
  }

  /**
   * In one step, makes this command the owner of the job and writes its entry. If another command owns the job, this command becomes a
   * watcher.
   */
  #claimJob(work: Work, { staged, request }: JobPlan, asked: JobEntry['asked']) {
    refuseLocalTarget(request.publish, this.#parts.store.shared && warehouseFile(staged.into) === null);
    const csv = csvOf(request);
    return this.owners.claim(work, ({ jobs }, owner) => {
      const named = request.job != null;
      refuseOtherUse(staged, named, jobs);
      const before = jobs.find((one) => one.staged.job === staged.job) ?? null;
      if (owner !== null) {
        const was = before?.staged;
        if (was && (was.generation !== staged.generation || was.limit !== staged.limit))
          throw new UsageError(
            'job-running',
            `${runsIt(staged, owner)} with other rows or options. Wait until it ends, or stop it`,
          );
        return { before };
      }
      const state = { phase: 'running' as const, since: Date.now() };
      const now = { staged, named, csv, completed: before?.completed ?? null, state, asked };
      return { before, entry: { job: staged.job, now: entryAfter(before, now) } };
    });
  }

  async #startOwned(
    { staged, request }: JobPlan,
    handle: RowJobHandle,
    asked: JobEntry['asked'],
    before: JobEntry | null,
    detached: boolean,
  ): Promise<JobHandle> {
    const { client } = await this.#parts.connect();
    const running = await runningFor(client, handle);
    if (running !== null) {
      const why = await whyEndFirst({
        ...{ running, handle, staged, shared: this.#parts.store.shared, asksMore: asked.freshness !== undefined },
        warehouse: () => (this.here.refused || detached ? null : this.#parts.warehouses.of(staged)),
      });
      if (why === null) {
        await this.owners.leaveToWorkers(handle);
        await handle.resume(boundsOf(asked));
        return this.ending(handle, staged);
      }
      this.#parts.config.say(why);
      // Agent runs of unchanged requests are handed over; those of changed requests are cancelled.
      if (!running.isCancelled) await handle.cancel({ handOver: keepsRequests(before, staged) });
      await handle.result().catch(() => undefined);
    }
    await this.#parts.store.stages.share(staged);
    await this.#startWorkflow(handle.workflowId, { staged, asked, csv: csvOf(request) }, detached);
    return this.ending(handle, staged);
  }

  async #startWorkflow(workflowId: string, run: RunOfJob, detached: boolean): Promise<void> {
    const { staged } = run;
    const input = toRunInput(run, this.#parts.store.shared);
    const { client } = await this.#parts.connect();
    this.owners.check();
    try {
      await client.workflow.start(workflowNames.enrichCsv, {
        workflowId,
        taskQueue: this.#parts.config.taskQueue,
        args: [input],
        ...staticSummary(`${staged.name}: ${some(staged.rows, 'row')}, ${staged.operation}`),
        staticDetails: `- from: ${staged.input}\n- into: ${staged.into}`,
        memo: {
          ...{ generation: staged.generation, host: staged.host ?? null, limit: staged.limit ?? null },
          ...(detached ? startedByUs : startedByCommand),
        },
      });
    } catch (error) {
      // If a schedule has started the job first, this command watches it.
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      await this.owners.leaveToWorkers({ workflowId });
    }
  }

  /**
   * Resumes a job: continues a paused job, and starts a stopped, cancelled or failed job again. This command then owns the job, unless
   * another command owns it.
   */
  async resume(job: string, how: Resumption, { detached = false }: Ownership = {}): Promise<JobHandle> {
    const entry = await findJob(this.#parts.store.entries, job);
    const { staged, workflowId = workflowIdOf(staged.job), completed, asked } = entry;
    const work: Work = { job: staged.job, workflowId };
    if (detached) await this.checkDetached(work);
    const bounds = boundsOf(how);
    // If the run ends before it reads the new bounds, the next run has them from its entry.
    const { owner } = await this.owners.claim(work, ({ jobs }) => {
      const now = jobs.find((one) => one.staged.job === staged.job);
      if (!now || Object.keys(bounds).length === 0) return {};
      return { entry: { job: staged.job, now: { ...now, asked: { ...now.asked, ...bounds } } } };
    });
    if (!detached) await this.here.run();
    const { client } = await this.#parts.connect();
    const handle = new RowJobHandle(client, staged.job, workflowId);
    let running = await runningFor(client, handle);
    if (running?.isCancelled) {
      this.#parts.config.say(ENDS_FIRST);
      await handle.result().catch(() => undefined);
      running = await runningFor(client, handle);
    }
    if (running !== null) {
      await this.owners.leaveToWorkers(handle);
      await handle.resume(how);
    } else if (completed === staged.generation)
      throw new UsageError('job-not-running', `${staged.job} is done. Run its command again to buy changed rows`);
    else if (owner === null) {
      // An earlier cancel whose end is not recorded does not concern the new run.
      await forgetCancel(this.#parts.store.entries, staged.job, workflowId);
      await this.#startWorkflow(workflowId, { ...entry, asked: { ...asked, ...bounds } }, detached);
    } else throw new UsageError('job-running', runsIt(staged, owner));
    if (detached) await this.owners.release(workflowId);
    return this.ending(handle, staged);
  }

  /**
   * Marks failed rows of a complete job and starts a run of the job. The run has nothing else to buy, because it keeps the stage of the last
   * run and asks for no fresher answers. If the run is interrupted, the marks stay, and `resume` continues.
   */
  async retry({ staged, pick }: RetryPlan, { maxCostDollars }: Pick<Resumption, 'maxCostDollars'>): Promise<JobHandle> {
    const last = await findJob(this.#parts.store.entries, staged.job);
    const { workflowId = workflowIdOf(staged.job) } = last;
    const { freshness: _freshness, redrive: _redrive, ...kept } = last.asked;
    const asked = { ...kept, maxCostDollars };
    const { owner, before } = await this.owners.claim({ job: staged.job, workflowId }, ({ jobs }, other) => {
      const entry = jobs.find((one) => one.staged.job === staged.job) ?? null;
      if (other !== null || entry === null) return { before: null };
      if (entry.staged.generation !== staged.generation)
        throw new UsageError(
          'job-replaced',
          `${staged.job} was run with other rows or options in the meantime. Run retry again`,
        );
      const state = { phase: 'running' as const, since: Date.now() };
      return { before: entry, entry: { job: staged.job, now: { ...entry, asked, completed: null, state } } };
    });
    if (owner !== null) throw new UsageError('job-running', runsIt(staged, owner));
    try {
      await this.here.run();
      const { client } = await this.#parts.connect();
      const handle = new RowJobHandle(client, staged.job, workflowId);
      if ((await runningFor(client, handle)) !== null)
        throw new UsageError('job-running', `${staged.job} is running. Wait until it ends, then run retry again`);
      await this.#parts.warehouses.of(staged).markRows(staged.job, 'retry', pick);
      await this.#startWorkflow(workflowId, { staged, asked, csv: last.csv }, false);
      return this.ending(handle, staged);
    } catch (error) {
      await this.#restore({ job: staged.job, workflowId }, before);
      throw error;
    }
  }

  /** Restores the earlier entry of a job, because nothing runs under the entry that this command made. */
  async #restore({ job, workflowId }: Work, before: JobEntry | null): Promise<void> {
    const entry = { job, now: before };
    await this.#parts.store.entries.claim(workflowId, ({ owned }) => ({ owned, entry })).catch(() => undefined);
  }

  /** A handle that records the end of the job. `startsAgain`: whether the job is started again after its end. */
  ending(handle: RowJobHandle, staged: StagedJob, startsAgain?: () => Promise<boolean>): JobHandle {
    return withJobEnd(this.#parts, handle, staged, () => !this.here.refused, startsAgain);
  }

  /** Whether the owner of a job has started the job again. The owner may have cancelled a run that a dead command had left. */
  async #startsAgain(handle: RowJobHandle): Promise<boolean> {
    const { client } = await this.#parts.connect();
    const until = performance.now() + START_AGAIN_MS;
    while (performance.now() < until) {
      const running = await runningFor(client, handle);
      if (running !== null && !running.isCancelled) return true;
      const owner = await this.owners.ownerOf(handle);
      if (owner === null || owner.id === this.#parts.store.entries.owner().id) return false;
      await delay(START_POLL_MS);
    }
    return false;
  }

  /** Parses again the answers in the plan's warehouse that could not be parsed; buys nothing. */
  async reparse({ staged }: JobPlan) {
    const warehouse = this.#parts.warehouses.of(staged);
    const result = await reparse(warehouse, staged, join(this.#parts.config.stateDir, 'scratch'));
    const entry = result.rows > 0 ? await this.#parts.store.entries.get(staged.job) : null;
    if (entry?.state.counts) {
      const counts = await warehouse.summary(staged.job);
      await noteState(this.#parts.store.entries, entry.staged, { ...entry.state, counts });
    }
    return result;
  }

  /**
   * Runs the worker until closed (`searchflow worker`, `searchflow dev`). `running` is called once the worker is ready, `report` for each run
   * that starts or ends.
   */
  async runWorker(running: () => void, report: (run: WatchedRun) => void): Promise<void> {
    await this.here.run('worker', (run) => {
      report(run);
      if (run.phase !== 'running') this.#recordEnd(run.job).catch(() => undefined);
    });
    if (!this.here.ended)
      throw new UsageError('state-folder-in-use', folderTaken(this.#parts.config, this.#parts.store));
    await this.#recordCancelled();
    running();
    await this.here.ended;
  }

  /** Records the end of the jobs that were cancelled while no worker was alive: they end on this worker. */
  async #recordCancelled(): Promise<void> {
    const cancelled = (await this.#parts.store.entries.all()).filter(({ state }) => state.cancelRequested);
    if (cancelled.length === 0) return;
    const { client } = await this.#parts.connect();
    for (const { staged, workflowId } of cancelled)
      this.ending(new RowJobHandle(client, staged.job, workflowId), staged)
        .result()
        .catch(() => undefined);
  }

  /** Records how a job ended if no command watches it and the job itself could not: it was cancelled, failed or was terminated. */
  async #recordEnd(job: string): Promise<void> {
    const entry = await findKnownJob(this.#parts.store.entries, job);
    const { client } = await this.#parts.connect();
    if (entry === null) return noteEndOfWalk(this.#parts, client, job);
    if (entry.state.phase !== 'running' && !entry.state.cancelRequested) return;
    await this.ending(new RowJobHandle(client, entry.staged.job, entry.workflowId), entry.staged).result();
  }

  /** Records the names in the input of a workflow as typed by a person. */
  allow(input: { readonly publish?: PublishStep }): Promise<void> {
    return this.#parts.store.entries.allow(allowedBy({ ...input, publish: input.publish?.to }));
  }

  async close(mode: 'drain' | 'now'): Promise<void> {
    this.#closing.abort();
    if (mode === 'drain') await Promise.race([this.#planning, delay(READ_MS, undefined, { ref: false })]);
    if (mode === 'drain') await this.here.drain();
    // If the owners cannot be read now, the work stays with this command.
    if (mode === 'drain') await this.owners.close().catch(() => undefined);
  }
}

/** Longest wait, on closing, for the end of a staging in ms. */
const READ_MS = 2000;

const csvOf = ({ csv }: EnrichRequest): string | null => (csv ? resolve(csv) : null);

/** Interval at which a watching command checks whether the owner has started the job. */
const START_POLL_MS = 250;
/** Longest wait of a watching command for the owner to start the job again after a cancel. */
const START_AGAIN_MS = 30_000;

const runsIt = ({ job }: Pick<Work, 'job'>, { pid, host }: Owner): string =>
  `Another command (PID ${pid} on ${host}) is running ${job}`;

const notDetachedText = (work: Pick<Work, 'job'>, owner: Owner): string =>
  `${runsIt(work, owner)}, and ${work.job} ends with that command. Wait until it ends, or stop it. Nothing was started`;
