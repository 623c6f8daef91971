import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { summaryOf } from '../../activities/rows/summarize.js';
import type { JobSummary, Resumption, StagedJob } from '../../core/rows/job.js';
import type { JobEntry } from '../../core/rows/job-entries.js';
import type { FailedFilter } from '../../core/rows/loaded-row.js';
import { CANCEL_RUNS, CANCEL_WAITS } from '../../core/rows/pause.js';
import { type CsvForm, usualCsv } from '../../core/rows/row-warehouse.js';
import { warehouseFile, whyNoTarget } from '../../warehouse/index.js';
import type {
  Discarded,
  EnrichRequest,
  FailedSelection,
  JobHandle,
  JobPlan,
  JobStatus,
  Ownership,
  Reparsed,
  RetryPlan,
} from '../config/runtime-types.js';
import { UsageError } from '../config/runtime-types.js';
import { findJob, findKnownJob, noteCancel, refuseUnknownJob } from '../staging/find-job.js';
import { identify } from '../staging/job-id.js';
import { hasTemporalFile } from '../temporal-server/binary.js';
import { countRows, withJobEnd } from './job-end.js';
import { jobStatuses, unopenedRunOf } from './job-lists.js';
import { checkPublish } from './publish.js';
import type { RuntimeParts } from './runtime-parts.js';
import type { LazyWork } from './runtime-work.js';
import type { TracedName } from './traced-rows.js';
import type { PlanOptions, RowJobs } from './views.js';

/** Longest wait, in ms, for the process of the server, which may be started later as well. */
const SPAWN_MS = 300;

/** Whether the warehouse of a job is a file of this machine that does not exist. */
function isFileGone({ into, host = hostname() }: StagedJob): boolean {
  const file = warehouseFile(into);
  return file !== null && host === hostname() && !existsSync(file);
}

/** The row jobs of a folder, or of its store. */
export class StoreRowJobs implements RowJobs {
  readonly #parts: RuntimeParts;
  readonly #work: LazyWork;

  constructor(parts: RuntimeParts, work: LazyWork) {
    this.#parts = parts;
    this.#work = work;
  }

  async plan(asked: EnrichRequest, options: PlanOptions = {}): Promise<JobPlan> {
    // The server starts while the modules of staging are loaded, because both take half a second.
    if (options.isAgreed && (await this.#startsServer(asked)))
      await Promise.race([this.#parts.awaitAnswer(), delay(SPAWN_MS)]);
    return (await this.#work.load()).plan(asked);
  }

  /** Whether the request needs an embedded server that can be started at once. The last run of the job, if any, was not complete. */
  async #startsServer(asked: EnrichRequest): Promise<boolean> {
    const { config, store } = this.#parts;
    if (config.temporalAddress !== null || !hasTemporalFile(process.env)) return false;
    try {
      const { job } = identify({ ...config, cwd: process.cwd() }, asked);
      const entry = await store.entries.get(job);
      return entry === null || entry.completed !== entry.staged.generation;
    } catch {
      // Staging reports the mistake.
      return false;
    }
  }

  async checkPublish({ request: { publish }, staged }: JobPlan): Promise<void> {
    if (publish) await checkPublish(this.#parts, publish, staged);
  }

  async start(plan: JobPlan, whose?: Ownership): Promise<JobHandle> {
    return (await this.#work.load()).start(plan, whose);
  }

  async resume(job: string, how: Resumption, whose?: Ownership): Promise<JobHandle> {
    return (await this.#work.load()).resume(job, how, whose);
  }

  async planRetry(job: string, selection: FailedSelection): Promise<RetryPlan> {
    return (await import('./retry-rows.js')).planRetry(this.#parts, job, selection);
  }

  async retry(plan: RetryPlan, how: Pick<Resumption, 'maxCostDollars'>): Promise<JobHandle> {
    return (await this.#work.load()).retry(plan, how);
  }

  async discard(job: string, what: FailedSelection & { readonly undo: boolean }): Promise<Discarded> {
    return (await import('./retry-rows.js')).discardRows(this.#parts, job, what);
  }

  async reparse(plan: JobPlan): Promise<Reparsed> {
    return (await this.#work.load()).reparse(plan);
  }

  async attach(job: string): Promise<JobHandle> {
    const entry = await findKnownJob(this.#parts.store.entries, job);
    const unopened = entry === null ? await unopenedRunOf(this.#parts, job) : null;
    const { staged, workflowId, schedule } =
      entry ??
      (unopened
        ? { staged: null, workflowId: unopened.job, schedule: undefined }
        : await refuseUnknownJob(this.#parts.store.entries, job));
    const [{ RowJobHandle }, { client }] = await Promise.all([
      import('../control/job-handle.js'),
      this.#parts.connect(),
    ]);
    if (staged === null) return new RowJobHandle(client, workflowId, workflowId);
    const cancelled = async (since: number) => {
      const { message } = await this.status(staged.job);
      // The cancel is recorded even if a worker is ending the job, because that worker may die before the end.
      if (message === CANCEL_WAITS || message === CANCEL_RUNS)
        await noteCancel(this.#parts.store.entries, entry as JobEntry, since);
    };
    const handle = new RowJobHandle(client, staged.job, workflowId, { schedule, cancelled });
    return withJobEnd(this.#parts, handle, staged, { worksHere: () => this.#work.opened?.clientOnly === null });
  }

  async checkTargets(job: string, targets: { readonly csv?: string; readonly parquet?: string }): Promise<void> {
    const { staged } = await findJob(this.#parts.store.entries, job);
    const sources = { into: warehouseFile(staged.into), input: staged.input };
    for (const kind of ['csv', 'parquet'] as const) {
      const why = targets[kind] === undefined ? null : whyNoTarget(kind, resolve(targets[kind]), sources);
      if (why !== null) throw new UsageError('output-path-unusable', `--${kind}: ${why}.`);
    }
  }

  async export(job: string, csv: string, form: Partial<CsvForm> = {}) {
    const { staged } = await findJob(this.#parts.store.entries, job);
    const file = resolve(csv);
    const whole = { ...usualCsv, ...staged.csvForm, ...form };
    return { ...(await this.#parts.warehouses.of(staged).exportCsv(staged.job, file, whole)), file };
  }

  async exportParquet(job: string, dir: string) {
    const { staged } = await findJob(this.#parts.store.entries, job);
    const folder = resolve(dir);
    return { ...(await this.#parts.warehouses.of(staged).exportParquet(staged.job, folder)), folder };
  }

  async summary(job: string): Promise<JobSummary> {
    const startedAt = Date.now();
    const { staged, csv, state } = await findJob(this.#parts.store.entries, job);
    const journal = await this.#parts.store.journal();
    // Recorded counts are preferred, because a count needs DuckDB, and loading DuckDB takes half a second.
    const recorded = isFileGone(staged) ? null : state.counts;
    const counts = recorded ?? (await countRows(this.#parts, staged));
    const totals = await journal.totals(`${staged.job}/`);
    return summaryOf({ staged, csv, counts, totals, before: totals, startedAt });
  }

  async status(job: string): Promise<JobStatus> {
    const entry = await findKnownJob(this.#parts.store.entries, job);
    if (entry === null)
      return (await unopenedRunOf(this.#parts, job)) ?? refuseUnknownJob(this.#parts.store.entries, job);
    return (await jobStatuses(this.#parts, [entry]))[0] as JobStatus;
  }

  async unknownOutcomes(job: string) {
    return (await this.#totals(job)).unknown;
  }

  async costMicros(job: string) {
    return (await this.#totals(job)).costMicros;
  }

  async failed(job: string, filter: FailedFilter) {
    return (await import('./traced-rows.js')).failedRowsOf(this.#parts, job, filter);
  }

  async trace(job: string, asked: TracedName) {
    const statusOf = async (entry: JobEntry) => (await jobStatuses(this.#parts, [entry]))[0] as JobStatus;
    return (await import('./traced-rows.js')).traceRow(this.#parts, job, asked, statusOf);
  }

  async #totals(job: string) {
    const { staged } = await findJob(this.#parts.store.entries, job);
    return (await this.#parts.store.journal()).totals(`${staged.job}/`);
  }
}
