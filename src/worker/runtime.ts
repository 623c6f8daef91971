import { join, resolve } from 'node:path';
import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';
import { summarize } from '../activities/job.js';
import type { EnrichCsvInput, JobSummary, StagedJob } from '../core/job.js';
import { pricesAt } from '../core/prices.js';
import { workflowNames } from '../core/job.js';
import type { JobEntries, JobEntry } from '../core/job-entries.js';
import type { Journal } from '../core/journal.js';
import { idleView } from '../core/limiter.js';
import { createSinks } from '../sinks/index.js';
import { FileJournal } from '../store/file-journal.js';
import { lockHolder, type ProcessLock, tryLock } from '../store/process-lock.js';
import { findJob } from './find-job.js';
import { FolderJobs } from './folder-jobs.js';
import { jobHandle, workflowIdOf } from './job-handle.js';
import { journalDir, openParts, openTransport, type Parts, rateProfileOf } from './parts.js';
import { freshnessOf, makePlan } from './plan.js';
import type { EnrichRequest, JobHandle, JobPlan, OpenRuntime, Runtime, RuntimeConfig } from './runtime-types.js';
import { UsageError } from './runtime-types.js';
import { stageEnrichment } from './stage-job.js';
import { connectTemporal, type Temporal } from './temporal.js';
import { logToFile, type RunningWorker, startWorker } from './worker-host.js';

/**
 * Opens the runtime of a folder: what the command, and nothing else, uses. Nothing is started before it is needed; `plan`,
 * `export` and `summary` need no Temporal server at all.
 */
export const openRuntime: OpenRuntime = async (config) => new FolderRuntime(config);

class FolderRuntime implements Runtime {
  readonly #config: RuntimeConfig;
  readonly #entries: JobEntries;
  readonly #sinks;
  #reading: Promise<Journal> | null = null;
  #lock: ProcessLock | null = null;
  #parts: Parts | null = null;
  #temporal: Promise<Temporal> | null = null;
  #worker: RunningWorker | null = null;
  #clientOnly = false;

  constructor(config: RuntimeConfig) {
    this.#config = config;
    this.#entries = new FolderJobs(join(config.stateDir, 'jobs'));
    this.#sinks = createSinks({ say: config.say });
  }

  get clientOnly(): boolean {
    return this.#clientOnly;
  }

  async plan(request: EnrichRequest): Promise<JobPlan> {
    const { stateDir, origin, concurrency, say } = this.#config;
    const transport = openTransport(this.#config);
    try {
      const context = { stateDir, origin, cwd: process.cwd(), concurrency, transport, say };
      const { staged, manifest } = await stageEnrichment(context, request);
      const before = await this.#entries.get(staged.job);
      refuseOtherInput(staged, before);
      return await makePlan({
        staged,
        manifest,
        request,
        before,
        journal: await this.#journal(),
        sink: this.#sinks.open(staged.into),
        qps: rateProfileOf(this.#config.rate).buckets[0]?.qps ?? 10,
        prices: pricesAt(Date.now(), this.#config.prices),
        now: Date.now(),
      });
    } finally {
      await transport.close();
    }
  }

  async start(plan: JobPlan): Promise<JobHandle> {
    const { staged, request } = plan;
    const maxCost = request.maxCostDollars === undefined ? {} : { maxCostDollars: request.maxCostDollars };
    const before = await this.#entries.get(staged.job);
    await this.#run();
    const temporal = await this.#connect();
    const freshness = freshnessOf(request, Date.now());
    const handle = jobHandle(temporal.client, staged.job);
    const running = await this.#running(handle);
    const homeless = running !== null && (await this.#warehouseGone(staged));
    if (running !== null && (freshness !== undefined || running !== staged.generation || homeless)) {
      this.#config.say(
        homeless
          ? 'The warehouse of this job is gone: it is made anew from the journal, what was bought stays bought'
          : 'An earlier run of this job with other contents or options is ended first; what it bought stays bought',
      );
      await handle.cancel();
      await handle.result().catch(() => undefined);
    } else if (running !== null) {
      await handle.resume(maxCost);
      return this.#completing(handle, staged);
    }
    const csv = request.csv === null ? null : resolve(request.csv);
    await this.#entries.put({ staged, named: request.job !== null, csv, completed: before?.completed ?? null });
    const input: EnrichCsvInput = {
      input: staged.input,
      urlColumn: staged.unitColumn ?? '',
      staged,
      ...(csv === null ? {} : { csv }),
      ...(freshness ? { freshness } : {}),
      ...maxCost,
    };
    try {
      await temporal.client.workflow.start(workflowNames.enrichCsv, {
        workflowId: workflowIdOf(staged.job),
        taskQueue: this.#config.taskQueue,
        args: [input],
        memo: { generation: staged.generation },
      });
    } catch (error) {
      // Another command was faster: then this one watches it.
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
    return this.#completing(handle, staged);
  }

  async attach(job: string, options: { readonly worker?: boolean } = {}): Promise<JobHandle> {
    const { staged } = await findJob(this.#entries, job);
    if (options.worker) await this.#run();
    return this.#completing(jobHandle((await this.#connect()).client, staged.job), staged);
  }

  async export(job: string, csv: string): Promise<{ rows: number; bytes: number; file: string }> {
    const { staged } = await findJob(this.#entries, job);
    const file = resolve(csv);
    return { ...(await this.#sinks.open(staged.into).exportCsv(staged.job, file)), file };
  }

  async summary(job: string): Promise<JobSummary> {
    const { staged, csv } = await findJob(this.#entries, job);
    const deps = {
      journal: await this.#journal(),
      sinkFor: ({ into }: Pick<StagedJob, 'into'>) => this.#sinks.open(into),
    };
    const summary = await summarize(deps, { staged, csv: null, startedAt: Date.now(), before: null });
    return { ...summary, csv };
  }

  async jobs() {
    return [...(await this.#entries.all())]
      .reverse()
      .map(({ staged: { job, name, origin, input, into } }) => ({ job, name, origin, input, into }));
  }

  inFlight(): number {
    return this.#parts?.inFlight.sent ?? 0;
  }

  async unknownOutcomes(job: string) {
    const { staged } = await findJob(this.#entries, job);
    return (await (await this.#journal()).totals(`${staged.job}/`)).unknown;
  }

  async limits() {
    if (this.#parts) return this.#parts.deps.limiter.view();
    return idleView(rateProfileOf(this.#config.rate));
  }

  async runWorker(): Promise<void> {
    await this.#run();
    if (!this.#worker) {
      throw new UsageError(
        `A worker of this folder runs already (PID ${lockHolder(this.#lockPath)?.pid ?? 'unknown'})`,
      );
    }
    await this.#worker.ended;
  }

  async close(mode: 'drain' | 'now'): Promise<void> {
    // A worker that failed by itself has nothing left to drain.
    if (mode === 'drain') await this.#worker?.stop().catch(() => undefined);
    const temporal = await this.#temporal?.catch(() => null);
    if (mode === 'drain') await this.#parts?.close();
    await temporal?.close().catch(() => undefined);
    await this.#sinks.close();
    await (await this.#reading)?.close();
    this.#lock?.release();
  }

  get #lockPath(): string {
    return join(this.#config.stateDir, 'worker.lock');
  }

  /** The journal of the worker in this process; else a reading one. */
  #journal(): Promise<Journal> {
    if (this.#parts) return Promise.resolve(this.#parts.deps.journal);
    this.#reading ??= FileJournal.open(journalDir(this.#config), {
      writes: false,
      alone: lockHolder(this.#lockPath) === null,
    });
    return this.#reading;
  }

  #connect(): Promise<Temporal> {
    this.#temporal ??= connectTemporal(this.#config, process.env);
    return this.#temporal;
  }

  /** Runs a worker in this process, unless one of this folder runs elsewhere: then this process is a client only. */
  async #run(): Promise<void> {
    if (this.#worker) return;
    this.#lock ??= tryLock(this.#lockPath);
    this.#clientOnly = this.#lock === null;
    if (this.#clientOnly) return;
    // The reading journal's index is not needed beside the writing one's.
    this.#reading = null;
    logToFile(this.#config.stateDir);
    // The server takes a second to start: meanwhile the journal is read.
    this.#connect().catch(() => undefined);
    this.#parts = await openParts(this.#config);
    await this.#reach(this.#parts);
    await this.#prune(this.#parts);
    const temporal = await this.#connect();
    this.#worker = await startWorker(this.#config, await temporal.nativeConnection(), this.#parts.deps);
  }

  /** Forgets old bodies of jobs whose every row the warehouse holds: a reload of these is a copy of the file itself. */
  async #prune({ deps }: Parts): Promise<void> {
    const before = Date.now() - this.#config.keepLandingMs;
    for (const { staged, completed } of await this.#entries.all()) {
      if (completed !== staged.generation) continue;
      // A warehouse that is busy or gone is no reason to start later: there is a next time.
      const loaded = await deps
        .sinkFor(staged)
        .loadedSlices(staged.job, staged.generation)
        .catch(() => null);
      if (loaded?.length === staged.slices) await deps.journal.prune(`${staged.job}/`, before);
    }
  }

  /** A service that can't be reached at all is told before a job waits for it. */
  async #reach(parts: Parts): Promise<void> {
    await parts.transport.warm(Math.min(8, this.#config.concurrency));
  }

  /** Whether the warehouse of a running job was deleted. Only whoever runs the worker can tell: elsewhere it may be about to be made. */
  async #warehouseGone(staged: StagedJob): Promise<boolean> {
    if (this.#clientOnly) return false;
    try {
      return (await this.#sinks.open(staged.into).loadedSlices(staged.job, staged.generation)) === null;
    } catch {
      // Busy or unusable is not gone; the job itself says what is wrong.
      return false;
    }
  }

  /** Generation of the run that goes on now, or null. */
  async #running(handle: JobHandle): Promise<string | null> {
    const { client } = await this.#connect();
    try {
      const found = client.workflow.getHandle(handle.workflowId);
      const description = await found.describe();
      if (description.status.name !== 'RUNNING') return null;
      const generation = description.memo?.generation;
      return typeof generation === 'string' ? generation : '';
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return null;
      throw error;
    }
  }

  /** Remembers that the job's content is whole once its workflow has ended well. */
  #completing(handle: JobHandle, staged: StagedJob): JobHandle {
    return {
      ...handle,
      result: async () => {
        const summary = await handle.result();
        const entry = await this.#entries.get(staged.job);
        if (entry?.staged.generation === staged.generation)
          await this.#entries.put({ ...entry, completed: staged.generation });
        return summary;
      },
    };
  }
}

/** One name, one thing: a job named by `--job` keeps its file. */
function refuseOtherInput(staged: StagedJob, before: JobEntry | null): void {
  if (!before?.named || before.staged.input === staged.input || staged.input === '-') return;
  throw new UsageError(
    `The job ${staged.name} is of ${before.staged.input}; ${staged.input} is another file. Give it a name of its own with --job`,
  );
}
