import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { summaryOf } from '../../activities/rows/summarize.js';
import type { JobEntry, StagedJob } from '../../core/job-entry-schemas.js';
import type { FailedFilter } from '../../core/rows/loaded-row.js';
import { type CsvForm, usualCsv } from '../../core/rows/row-warehouse.js';
import { warehouseFile, whyNoTarget } from '../../warehouse/index.js';
import { type FailedSelection, type JobPlan, type JobStatus, UsageError } from '../config/runtime-types.js';
import type { JobHandle } from '../control/job-handle.js';
import { findJob, findKnownJob, noteCancel, refuseUnknownJob } from '../staging/find-job.js';
import { countRows, withJobEnd } from './job-end.js';
import { unopenedRunOf } from './job-lists.js';
import { statusesOf } from './job-status.js';
import { checkPublish } from './publish.js';
import type { RuntimeParts } from './runtime-parts.js';
import type { TracedName } from './traced-rows.js';

/** Whether the warehouse of a job is a file of this machine that does not exist. */
function isFileGone({ into, host = hostname() }: StagedJob): boolean {
  const file = warehouseFile(into);
  return file !== null && host === hostname() && !existsSync(file);
}

/** The row jobs of a folder, or of its store. `worksHere`: whether this process runs the worker. */
export function rowJobs(parts: RuntimeParts, worksHere: () => boolean) {
  const { warehouses } = parts;
  const { entries } = parts.store;
  const retries = () => import('./retry-rows.js');
  const traced = () => import('./traced-rows.js');
  const statusOf = async (entry: JobEntry) => (await statusesOf(parts, [entry]))[0] as JobStatus;
  const totals = async (job: string) => {
    const { staged } = await findJob(entries, job);
    return (await parts.store.journal()).totals(`${staged.job}/`);
  };
  /** Status of a job. Asks a running server, but starts none. */
  const status = async (job: string) => {
    const entry = await findKnownJob(entries, job);
    if (entry !== null) return statusOf(entry);
    return (await unopenedRunOf(parts, job)) ?? refuseUnknownJob(entries, job);
  };
  return {
    /** Throws `UsageError` if the publish at the end of the run is known to fail. Reads the target only. */
    checkPublish: (plan: JobPlan) => checkPublish(parts, plan),
    planRetry: async (job: string, selection: FailedSelection) => (await retries()).planRetry(parts, job, selection),
    discard: async (job: string, what: FailedSelection & { readonly undo: boolean }) =>
      (await retries()).discardRows(parts, job, what),
    /** A job by its id, or by its name if that is unique, for status, pause and cancel. Throws `UsageError` if there is no such job. */
    async attach(job: string): Promise<JobHandle> {
      const entry = await findKnownJob(entries, job);
      const unopened = entry === null ? await unopenedRunOf(parts, job) : null;
      const { staged, workflowId, schedule } =
        entry ??
        (unopened
          ? { staged: null, workflowId: unopened.job, schedule: undefined }
          : await refuseUnknownJob(entries, job));
      const [{ RowJobHandle }, { client }] = await Promise.all([import('../control/job-handle.js'), parts.connect()]);
      if (staged === null) return new RowJobHandle(client, workflowId, workflowId);
      const cancelled = async (since: number) => {
        const { cancelRequested } = await status(staged.job);
        // The cancel is recorded even if a worker is ending the job, because that worker may die before the end.
        if (cancelRequested) await noteCancel(entries, entry as JobEntry, since);
      };
      const handle = new RowJobHandle(client, staged.job, workflowId, { schedule, cancelled });
      return withJobEnd(parts, handle, staged, worksHere);
    },
    /** Throws `UsageError` if an export of the job must not write to one of these paths. Changes nothing. */
    async checkTargets(job: string, targets: { readonly csv?: string; readonly parquet?: string }) {
      const { staged } = await findJob(entries, job);
      const sources = { into: warehouseFile(staged.into), input: staged.input };
      for (const kind of ['csv', 'parquet'] as const) {
        const why = targets[kind] === undefined ? null : whyNoTarget(kind, resolve(targets[kind]), sources);
        if (why !== null) throw new UsageError('output-path-unusable', `--${kind}: ${why}.`);
      }
    },
    /** Writes the enriched CSV of a job from its warehouse, without Temporal. `form`: fields that differ from those of the job. */
    async export(job: string, csv: string, form: Partial<CsvForm> = {}) {
      const { staged } = await findJob(entries, job);
      const file = resolve(csv);
      const usual = staged.csvForm ?? usualCsv;
      const whole = { delimiter: form.delimiter ?? usual.delimiter, bom: form.bom ?? usual.bom };
      return { ...(await warehouses.of(staged).exportCsv(staged.job, file, whole)), file };
    },
    /** Writes the rows of a job as Parquet files into a directory of their own, without Temporal. */
    async exportParquet(job: string, dir: string) {
      const { staged } = await findJob(entries, job);
      const folder = resolve(dir);
      return { ...(await warehouses.of(staged).exportParquet(staged.job, folder)), folder };
    },
    /** Summary of a complete job from warehouse and journal, without Temporal. */
    async summary(job: string) {
      const startedAt = Date.now();
      const { staged, csv, state } = await findJob(entries, job);
      const journal = await parts.store.journal();
      // Recorded counts are preferred, because a count needs DuckDB, and loading DuckDB takes half a second.
      const recorded = isFileGone(staged) ? null : state.counts;
      const counts = recorded ?? (await countRows(parts, staged));
      const totals = await journal.totals(`${staged.job}/`);
      return summaryOf({ staged, csv, counts, totals, before: totals, startedAt });
    },
    status,
    unknownOutcomes: async (job: string) => (await totals(job)).unknown,
    /** Cost of all runs of a job in micro-dollars, from the journal. */
    costMicros: async (job: string) => (await totals(job)).costMicros,
    failed: async (job: string, filter: FailedFilter) => (await traced()).failedRowsOf(parts, job, filter),
    trace: async (job: string, asked: TracedName) => (await traced()).traceRow(parts, job, asked, statusOf),
  };
}
