import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pricesAt } from '../../core/purchase/prices.js';
import type { PublishStep } from '../../core/row-job-schemas.js';
import type { Work } from '../../core/rows/job-entries.js';
import type { WatchedRun } from '../../core/workflow-result-schemas.js';
import { warehouseFile } from '../../warehouse/index.js';
import { allowedBy } from '../config/allowlist.js';
import { rateProfileOf } from '../config/derived-settings.js';
import { whyNoKey } from '../config/publish-step.js';
import type { EnrichRequest, JobPlan } from '../config/runtime-types.js';
import { UsageError } from '../config/runtime-types.js';
import { RowJobHandle } from '../control/job-handle.js';
import { WorkOwners } from '../control/work-owners.js';
import { noteEndOfWalk } from '../control/workflow-handle.js';
import { folderTaken, openTransport } from '../host/parts.js';
import { WorkerHere } from '../host/worker-here.js';
import { findKnownJob, noteState } from '../staging/find-job.js';
import { makePlan } from '../staging/plan.js';
import { reparse } from '../staging/reparse.js';
import { stageEnrichment, stagingIn } from '../staging/stage-job.js';
import { JobStarts } from './job-starts.js';
import type { RuntimeParts } from './runtime-parts.js';

/** Staging and worker, which are loaded when a command first needs them: their libraries take most of a second to load. */
export interface LazyWork {
  load(): Promise<RuntimeWork>;
  /** Null until they are loaded. */
  readonly opened: RuntimeWork | null;
}

/** The part of a runtime that stages and starts jobs and runs a worker. */
export class RuntimeWork {
  readonly #parts: RuntimeParts;
  readonly owners: WorkOwners;
  readonly here: WorkerHere;
  readonly starts: JobStarts;
  readonly #closing = new AbortController();
  /** The last plan; resolves when it ends. */
  #planning: Promise<unknown> = Promise.resolve();

  constructor(parts: RuntimeParts) {
    this.#parts = parts;
    const { config, store } = parts;
    this.owners = new WorkOwners(config, store, async () => (await parts.connect()).client);
    this.here = new WorkerHere(config, store, parts, this.owners);
    this.starts = new JobStarts(parts, this.owners, this.here);
  }

  plan(asked: EnrichRequest): Promise<JobPlan> {
    const plan = this.#plan(asked);
    this.#planning = plan.catch(() => undefined);
    return plan;
  }

  async #plan(asked: EnrichRequest): Promise<JobPlan> {
    const transport = openTransport(this.#parts.config);
    try {
      const { signal } = this.#closing;
      const context = { ...stagingIn(this.#parts.config, this.#parts.store, transport), signal };
      const { staged, manifest, before, request: kept } = await stageEnrichment(context, asked);
      const request = { ...asked, ...kept };
      const why = asked.publish ? whyNoKey(asked.publish, staged) : null;
      if (why !== null) throw new UsageError('publish-key-invalid', `--publish-key: ${why}.`);
      const plan = await makePlan({
        staged,
        manifest,
        asked,
        request,
        before,
        journal: await this.#parts.store.journal(),
        warehouse: this.#parts.warehouses.of(staged),
        rate: rateProfileOf(this.#parts.config),
        prices: pricesAt(Date.now(), this.#parts.config.prices),
        maxCostPerJobMicros: this.#parts.config.maxCostPerJobMicros ?? null,
        now: Date.now(),
      });
      return this.#parts.store.shared && warehouseFile(staged.into) !== null
        ? { ...plan, notes: [...plan.notes, oneMachine] }
        : plan;
    } finally {
      await transport.close();
    }
  }

  async own(work: Work): Promise<void> {
    await this.owners.claim(work, () => ({}));
    await this.here.run();
    await this.owners.leaveToWorkers(work);
  }

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
      this.starts
        .ending(new RowJobHandle(client, staged.job, workflowId), staged)
        .result()
        .catch(() => undefined);
  }

  /** Records how a job ended if no command watches it and the job itself could not: it was cancelled, failed or was terminated. */
  async #recordEnd(job: string): Promise<void> {
    const entry = await findKnownJob(this.#parts.store.entries, job);
    const { client } = await this.#parts.connect();
    if (entry === null) return noteEndOfWalk(this.#parts, client, job);
    if (entry.state.phase !== 'running' && !entry.state.cancelRequested) return;
    await this.starts.ending(new RowJobHandle(client, entry.staged.job, entry.workflowId), entry.staged).result();
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

const oneMachine =
  'The warehouse is a file, so only workers on this machine can load it. For workers on several machines, use a database (--into postgres://…).';

/** Longest wait, on closing, for the end of a staging in ms. */
const READ_MS = 2000;
