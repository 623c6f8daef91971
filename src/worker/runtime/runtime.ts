import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { summaryOf } from '../../activities/rows/summarize.js';
import { DEFAULT_EVENT_WAREHOUSE } from '../../core/events/walk-job.js';
import type { JobEntry, StagedJob } from '../../core/job-entry-schemas.js';
import { DEFAULT_MONITOR_WAREHOUSE } from '../../core/monitors/monitor-names.js';
import { deferred } from '../../core/processes/deferred.js';
import type { Published, PublishRequest } from '../../core/publish-request.js';
import type { Spend } from '../../core/purchase/spend.js';
import type { FailedFilter } from '../../core/rows/loaded-row.js';
import { type CsvForm, usualCsv } from '../../core/rows/row-warehouse.js';
import { sentence } from '../../core/text/count.js';
import { warehouseFile, whyNoTarget } from '../../warehouse/index.js';
import { Allowlist } from '../config/allowlist.js';
import { whyNotHere } from '../config/publish-step.js';
import {
  type CleanWish,
  type EnrichRequest,
  type FailedSelection,
  type JobPlan,
  type JobStatus,
  type RuntimeConfig,
  UsageError,
  type WorkflowAccess,
} from '../config/runtime-types.js';
import { isSameWarehouse, warehouseOf } from '../config/warehouse-setting.js';
import type { ForgetPlan, ForgetWish } from '../control/forget.js';
import type { FreeCall } from '../control/free-calls.js';
import type { JobHandle } from '../control/job-handle.js';
import { findJob, findKnownJob, identify, noteCancel, refuseUnknownJob } from '../staging/find-job.js';
import { openStore } from '../store/open-store.js';
import { openWarehouses } from '../store/warehouses.js';
import { hasTemporalFile } from '../temporal-server/binary.js';
import { connectIfRunning, connectTemporal, type Temporal } from '../temporal-server/temporal.js';
import { countRows, withJobEnd } from './job-end.js';
import { jobLists, unopenedRunOf } from './job-lists.js';
import { statusesOf } from './job-status.js';
import type { JobWork } from './job-work.js';
import type { ReportWish } from './report.js';
import type { RuntimeParts } from './runtime-parts.js';
import type { TracedName } from './traced-rows.js';

/** Longest wait, in ms, for the process of the server, which may be started later as well. */
const SPAWN_MS = 300;
/** Longest wait, on closing, for a server that is still starting. */
const STARTING_MS = 1000;
/** Longest time, in ms, for which a server that does not answer yet is asked again. */
const ANSWERING_MS = 10_000;

export type Runtime = Awaited<ReturnType<typeof openRuntime>>;

/**
 * Opens the runtime of a folder, for commands. All parts but the store are opened when they are needed; a plan, an export and a summary
 * need no Temporal server.
 */
export async function openRuntime(config: RuntimeConfig) {
  const store = await openStore(config);
  let temporal: Promise<Temporal> | null = null;
  let running: ReturnType<typeof connectIfRunning> | null = null;
  let loading: Promise<JobWork> | null = null;
  let opened: JobWork | null = null;
  const allowlist = new Allowlist(config, store.entries);
  // A person may read any file. A name of a workflow's input may lead elsewhere since the worker allowed it.
  const warehouses = openWarehouses(config, false, {
    check: async (names) => (opened?.here.ended ? allowlist.check(names) : undefined),
  });
  const awaited = deferred<void>();

  const parts: RuntimeParts = {
    ...{ config, store, warehouses },
    connect: () => {
      temporal ??= connect(config, awaited.resolve);
      return temporal;
    },
    awaitAnswer: () => Promise.race([parts.connect().catch(() => undefined), awaited.promise]).then(() => undefined),
    connectIfRunning: () => {
      running ??= connectIfRunning(config, process.env);
      return running;
    },
  };
  const load = () => {
    loading ??= import('./job-work.js').then((module) => {
      opened = new module.JobWork(parts);
      return opened;
    });
    return loading;
  };

  const forgetParts = { ...parts, statuses: (entries: readonly JobEntry[]) => statusesOf(parts, entries) };
  return {
    /** Whether other workers share the store, and keep running when this process ends. */
    shared: store.shared,
    /** See `WorkerHere.refused`. */
    get clientOnly() {
      return opened?.here.refused ?? null;
    },
    rows: rowJobs(parts, () => opened?.here.refused === null),
    jobs: jobLists(parts),
    /**
     * The part that stages and starts jobs and runs a worker. `agreed`: a request whose run will follow without a question, so the server starts
     * while the modules are loaded and many rows are read.
     */
    async work(agreed: EnrichRequest | null = null) {
      // The server starts while the modules of staging are loaded, because both take half a second.
      if (agreed && (await needsServer(parts, agreed))) await Promise.race([parts.awaitAnswer(), sleep(SPAWN_MS)]);
      return load();
    },
    /** The work that this command owns: work that ends with it. */
    owned: async () => opened?.owners.owned() ?? [],
    /** Whether all commands that owned the work have ended, and no worker has taken it over. */
    isAbandoned: async (workflowId: string) =>
      (await store.entries.owned()).find((one) => one.workflowId === workflowId)?.living.length === 0,
    /** Makes the workers the owner of work that waits for a person. */
    release: async (workflowId: string) => opened?.owners.release(workflowId),
    /** Stops the work that this command owns; work that has not stopped when `until` resolves is terminated. */
    stop: async (until: Promise<unknown>) => opened?.owners.stop('command-stopped', until),
    team: teamView(parts),
    /** Sends a test alert to each receiver. Throws `UsageError` without one. */
    testAlerts: async () => (await import('../send-alert.js')).testAlerts(config),
    publish: (wish: PublishWish) => publish(parts, wish),
    clean: async (wish: CleanWish) => (await import('./clean.js')).clean(parts, wish),
    /** Finds the data of a job or a URL, without Temporal. Changes nothing. */
    planForget: async (wish: ForgetWish) => (await import('../control/forget.js')).planForget(forgetParts, wish),
    /** Removes the data of a plan from store and warehouses. The costs and the hashes of units stay. `step` gets each step. */
    forget: async (plan: ForgetPlan, step?: (what: string) => void) =>
      (await import('../control/forget.js')).forget(forgetParts, plan, step),
    report: async (wish: ReportWish) => (await import('./report.js')).readReport(parts, wish),
    /** Makes free calls to the service, without Temporal. */
    calls: async <T>(signal: AbortSignal, work: (call: FreeCall) => Promise<T>) =>
      (await import('../control/free-calls.js')).withFreeCalls(config, store.limiter(), signal, work),
    /** Access to the workflows of walks, monitors, agents and schedules. `worker: true` also runs the worker here. */
    async workflows({ worker = false } = {}): Promise<WorkflowAccess> {
      if (worker) await (await load()).here.run();
      const { client } = await parts.connect();
      return { client, config, shared: store.shared, allow: async (input) => (await load()).allow(input) };
    },
    /** Number of paid requests that this process has sent and that have no answer yet. */
    inFlight: () => opened?.here.parts?.inFlight.sent ?? 0,
    /** `drain`: starts nothing more, lets paid requests in flight land (10 s at most) and releases everything. `now`: closes at once. */
    async close(mode: 'drain' | 'now') {
      await (await loading)?.close(mode);
      await (await running)?.close().catch(() => undefined);
      // A server that is still starting is awaited only briefly, because the supervisor ends a server that no process uses.
      const starting = sleep(STARTING_MS, null, { ref: false });
      const connected = await Promise.race([temporal?.catch(() => null), starting]);
      await connected?.close().catch(() => undefined);
      await warehouses.close();
      await store.close();
    },
  };
}

async function connect(config: RuntimeConfig, awaited: () => void): Promise<Temporal> {
  const connected = await connectTemporal(config, process.env, awaited);
  try {
    // The embedded server has only the workers of this folder, which have the same settings.
    if (config.temporalAddress !== null) {
      const { checkReadable } = await import('../temporal-server/open-client.js');
      await checkReadable(connected.client, config.taskQueue);
    }
    return connected;
  } catch (error) {
    await connected.close();
    throw error;
  }
}

/** Whether the request needs an embedded server that can be started at once. The last run of the job, if any, was not complete. */
async function needsServer({ config, store }: RuntimeParts, asked: EnrichRequest): Promise<boolean> {
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

const teamView = ({ store, config }: RuntimeParts) => ({
  limits: () => store.limiter().view(),
  /** Ends the block of the team. Returns whether the work that Temporal keeps until the end of the block continues at once. */
  async unblock() {
    await store.limiter().unblock();
    // Without a process that works in the folder, nothing waits in its server.
    if (config.temporalAddress === null && !store.shared && store.holder() === null) return true;
    const { wakeWaiting } = await import('../control/wake-work.js');
    const until = Date.now() + ANSWERING_MS;
    for (; ; await sleep(STARTING_MS)) {
      const temporal = await connectIfRunning(config, process.env);
      if (temporal)
        return wakeWaiting(temporal.client, config.taskQueue)
          .catch(() => false)
          .finally(temporal.close);
      if (Date.now() > until) return false;
    }
  },
  otherLimits: () => store.otherLimits(),
  slots: () => store.slots(),
  spend: (): Promise<Spend> => store.journal(),
});

export interface PublishWish extends Omit<PublishRequest, 'subject'> {
  /** Name or id of a job, `events` or `monitors`. */
  readonly what: string;
  /** The warehouse of events or monitors; null: the usual one. */
  readonly from: string | null;
}

const usual = { events: DEFAULT_EVENT_WAREHOUSE, monitors: DEFAULT_MONITOR_WAREHOUSE } as const;

/** Throws `UsageError` if the rows of a staged job could not be published here, as far as it is known before a run. Writes nothing. */
export async function checkPublish(
  { config, warehouses }: Pick<RuntimeParts, 'config' | 'warehouses'>,
  { staged, request }: JobPlan,
): Promise<void> {
  const { publish: step } = request;
  if (!step) return;
  const why =
    whyNotHere(step, staged, config.duckDbExtensions ?? null) ??
    (await warehouses
      .publisher(staged)
      .check(step.to)
      .then(
        () => null,
        (error: Error) => error.message,
      ));
  if (why !== null) throw new UsageError('publish-target-invalid', `--publish: ${sentence(why)} Nothing was bought.`);
}

/** Publishes a job from its warehouse, or events or monitors, without Temporal. */
export async function publish(
  { config, store, warehouses }: RuntimeParts,
  { what, from, ...request }: PublishWish,
): Promise<Published> {
  if (what === 'events' || what === 'monitors') {
    const into = warehouseOf(config, from, usual[what], process.cwd());
    return warehouses.publisher({ into }).publish({ ...request, subject: what });
  }
  const { staged } = await findJob(store.entries, what);
  // The address may have the user and password that the job's own address lacks.
  if (from !== null && !isSameWarehouse(warehouseOf(config, from, staged.into, process.cwd()), staged.into))
    throw new UsageError('option-unusable', `--from: the rows of ${staged.job} are in ${staged.into}. Leave it out.`);
  return warehouses.publisher(staged).publish({ ...request, subject: { job: staged.job } });
}

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
    failed: async (job: string, filter: FailedFilter) => (await traced()).failedRowsOf(parts, job, filter),
    trace: async (job: string, asked: TracedName) => (await traced()).traceRow(parts, job, asked, statusOf),
  };
}
