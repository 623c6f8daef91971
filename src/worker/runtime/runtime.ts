import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { setTimeout as delay, setTimeout as sleep } from 'node:timers/promises';
import { summaryOf } from '../../activities/rows/summarize.js';
import type { JobEntry, StagedJob } from '../../core/job-entry-schemas.js';
import { deferred } from '../../core/processes/deferred.js';
import { CANCEL_RUNS, CANCEL_WAITS } from '../../core/rows/pause.js';
import { usualCsv } from '../../core/rows/row-warehouse.js';
import { warehouseFile, whyNoTarget } from '../../warehouse/index.js';
import { Allowlist } from '../config/allowlist.js';
import { type EnrichRequest, type JobStatus, type RuntimeConfig, UsageError } from '../config/runtime-types.js';
import { findJob, findKnownJob, noteCancel, refuseUnknownJob } from '../staging/find-job.js';
import { identify } from '../staging/job-id.js';
import { openStore } from '../store/open-store.js';
import { openWarehouses } from '../store/warehouses.js';
import { hasTemporalFile } from '../temporal-server/binary.js';
import { connectIfRunning } from '../temporal-server/running-server.js';
import type { AcceptingServer, ConnectionSteps, Temporal } from '../temporal-server/temporal.js';
import { countRows, withJobEnd } from './job-end.js';
import { jobStatuses, StoreJobLists, unopenedRunOf } from './job-lists.js';
import { checkPublish, publish } from './publish.js';
import type { RuntimeParts } from './runtime-parts.js';
import type { LazyWork, RuntimeWork } from './runtime-work.js';
import type { OpenRuntime, OwnWork, RowJobs, TeamView } from './views.js';

/** Longest wait, on closing, for a server that is still starting. */
const STARTING_MS = 1000;
/** Longest time, in ms, for which a server that does not answer yet is asked again. */
const ANSWERING_MS = 10_000;

/**
 * Opens the runtime of a folder, for commands. All parts but the store are opened when they are needed; a plan, an export and a summary
 * need no Temporal server.
 */
export const openRuntime: OpenRuntime = async (config) => {
  const store = await openStore(config);
  let temporal: Promise<Temporal> | null = null;
  let running: ReturnType<typeof connectIfRunning> | null = null;
  let loading: Promise<RuntimeWork> | null = null;
  let opened: RuntimeWork | null = null;
  const allowlist = new Allowlist(config, store.entries);
  // A person may read any file. A name of a workflow's input may lead elsewhere since the worker allowed it.
  const warehouses = openWarehouses(config, false, {
    check: async (names) => (opened?.here.ended ? allowlist.check(names) : undefined),
  });
  const awaited = deferred<void>();
  const accepting = deferred<AcceptingServer>();

  const parts: RuntimeParts = {
    ...{ config, store, warehouses },
    connect: () => {
      temporal ??= connect(config, { awaited: awaited.resolve, accepting: accepting.resolve });
      return temporal;
    },
    awaitAnswer: () => Promise.race([parts.connect().catch(() => undefined), awaited.promise]).then(() => undefined),
    accepting: accepting.promise,
    connectIfRunning: () => {
      running ??= connectIfRunning(config, process.env);
      return running;
    },
  };
  const work: LazyWork = {
    load: () => {
      loading ??= import('./runtime-work.js').then((module) => {
        opened = new module.RuntimeWork(parts);
        return opened;
      });
      return loading;
    },
    get opened() {
      return opened;
    },
  };

  const forgetParts = { ...parts, statuses: (entries: readonly JobEntry[]) => jobStatuses(parts, entries) };
  return {
    shared: store.shared,
    get clientOnly() {
      return opened?.clientOnly ?? null;
    },
    rows: rowJobs(parts, work),
    jobs: new StoreJobLists(parts),
    work: ownWork(work, parts),
    team: teamView(parts),
    testAlerts: async () => (await import('../alerts/send-alert.js')).testAlerts(config),
    publish: (wish) => publish(parts, wish),
    clean: async (wish) => (await import('./clean.js')).clean(parts, wish),
    planForget: async (wish) => (await import('../control/forget.js')).planForget(forgetParts, wish),
    forget: async (plan, step) => (await import('../control/forget.js')).forget(forgetParts, plan, step),
    report: async (wish) => (await import('./report.js')).readReport(parts, wish),
    async workflows(options = {}) {
      if (options.worker) await (await work.load()).here.run();
      const { client } = await parts.connect();
      return { client, config, shared: store.shared, allow: async (input) => (await work.load()).allow(input) };
    },
    runWorker: async (ready, report) => (await work.load()).runWorker(ready, report),
    takeOver: async () => (await work.load()).here.takeOver(),
    inFlight: () => opened?.inFlight ?? 0,
    async close(mode) {
      await (await loading)?.close(mode);
      await (await running)?.close().catch(() => undefined);
      // A server that is still starting is awaited only briefly, because the watcher ends a server that no process uses.
      const starting = sleep(STARTING_MS, null, { ref: false });
      const connected = await Promise.race([temporal?.catch(() => null), starting]);
      await connected?.close().catch(() => undefined);
      await warehouses.close();
      await store.close();
    },
  };
};

async function connect(config: RuntimeConfig, steps: ConnectionSteps): Promise<Temporal> {
  // The modules are loaded here, because a command that needs no server does not need them.
  const { connectTemporal } = await import('../temporal-server/temporal.js');
  const connected = await connectTemporal(config, process.env, steps);
  try {
    // The embedded server has only the workers of this folder, which have the same settings.
    if (config.temporalAddress !== null) {
      const { checkDataConverter } = await import('../team/presence.js');
      await checkDataConverter(connected.client, config.taskQueue);
    }
    return connected;
  } catch (error) {
    await connected.close();
    throw error;
  }
}

const ownWork = (work: LazyWork, parts: RuntimeParts): OwnWork => ({
  own: async (one) => (await work.load()).own(one),
  checkDetached: async (one) => (await work.load()).starts.checkDetached(one),
  owned: async () => work.opened?.owners.owned() ?? [],
  isAbandoned: async (workflowId) =>
    (await parts.store.entries.owned()).find((one) => one.workflowId === workflowId)?.living.length === 0,
  release: async (workflowId) => work.opened?.owners.release(workflowId),
  stop: async (until) => work.opened?.stop(until),
});

const teamView = ({ store, config }: RuntimeParts): TeamView => ({
  limits: () => store.limits(),
  async unblock() {
    await store.unblock();
    // Without a process that works in the folder, nothing waits in its server.
    if (config.temporalAddress === null && !store.shared && store.holder() === null) return true;
    const { wakeWaiting } = await import('../control/pending-activity.js');
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
  workerElsewhere: () => {
    const holder = store.holder();
    return holder === process.pid ? null : holder;
  },
  slots: () => store.slots(),
  spend: () => store.journal(),
});

/** Longest wait, in ms, for the process of the server, which may be started later as well. */
const SPAWN_MS = 300;

/** Whether the warehouse of a job is a file of this machine that does not exist. */
function isFileGone({ into, host = hostname() }: StagedJob): boolean {
  const file = warehouseFile(into);
  return file !== null && host === hostname() && !existsSync(file);
}

/** The row jobs of a folder, or of its store. */
function rowJobs(parts: RuntimeParts, work: LazyWork): RowJobs {
  const { config, warehouses } = parts;
  const { entries } = parts.store;
  const starts = async () => (await work.load()).starts;
  const retries = () => import('./retry-rows.js');
  const traced = () => import('./traced-rows.js');
  const statusOf = async (entry: JobEntry) => (await jobStatuses(parts, [entry]))[0] as JobStatus;
  const totals = async (job: string) => {
    const { staged } = await findJob(entries, job);
    return (await parts.store.journal()).totals(`${staged.job}/`);
  };
  /** Whether the request needs an embedded server that can be started at once. The last run of the job, if any, was not complete. */
  const startsServer = async (asked: EnrichRequest) => {
    if (config.temporalAddress !== null || !hasTemporalFile(process.env)) return false;
    try {
      const { job } = identify({ ...config, cwd: process.cwd() }, asked);
      const entry = await entries.get(job);
      return entry === null || entry.completed !== entry.staged.generation;
    } catch {
      // Staging reports the mistake.
      return false;
    }
  };
  const status = async (job: string) => {
    const entry = await findKnownJob(entries, job);
    if (entry !== null) return statusOf(entry);
    return (await unopenedRunOf(parts, job)) ?? refuseUnknownJob(entries, job);
  };
  return {
    async plan(asked, options = {}) {
      // The server starts while the modules of staging are loaded, because both take half a second.
      if (options.isAgreed && (await startsServer(asked))) await Promise.race([parts.awaitAnswer(), delay(SPAWN_MS)]);
      return (await work.load()).plan(asked);
    },
    async checkPublish({ request, staged }) {
      if (request.publish) await checkPublish(parts, request.publish, staged);
    },
    start: async (plan, whose) => (await starts()).start(plan, whose),
    resume: async (job, how, whose) => (await starts()).resume(job, how, whose),
    planRetry: async (job, selection) => (await retries()).planRetry(parts, job, selection),
    retry: async (plan, how) => (await starts()).retry(plan, how),
    discard: async (job, what) => (await retries()).discardRows(parts, job, what),
    reparse: async (plan) => (await work.load()).reparse(plan),
    async attach(job) {
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
        const { message } = await status(staged.job);
        // The cancel is recorded even if a worker is ending the job, because that worker may die before the end.
        if (message === CANCEL_WAITS || message === CANCEL_RUNS) await noteCancel(entries, entry as JobEntry, since);
      };
      const handle = new RowJobHandle(client, staged.job, workflowId, { schedule, cancelled });
      return withJobEnd(parts, handle, staged, { worksHere: () => work.opened?.clientOnly === null });
    },
    async checkTargets(job, targets) {
      const { staged } = await findJob(entries, job);
      const sources = { into: warehouseFile(staged.into), input: staged.input };
      for (const kind of ['csv', 'parquet'] as const) {
        const why = targets[kind] === undefined ? null : whyNoTarget(kind, resolve(targets[kind]), sources);
        if (why !== null) throw new UsageError('output-path-unusable', `--${kind}: ${why}.`);
      }
    },
    async export(job, csv, form = {}) {
      const { staged } = await findJob(entries, job);
      const file = resolve(csv);
      const usual = staged.csvForm ?? usualCsv;
      const whole = { delimiter: form.delimiter ?? usual.delimiter, bom: form.bom ?? usual.bom };
      return { ...(await warehouses.of(staged).exportCsv(staged.job, file, whole)), file };
    },
    async exportParquet(job, dir) {
      const { staged } = await findJob(entries, job);
      const folder = resolve(dir);
      return { ...(await warehouses.of(staged).exportParquet(staged.job, folder)), folder };
    },
    async summary(job) {
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
    unknownOutcomes: async (job) => (await totals(job)).unknown,
    costMicros: async (job) => (await totals(job)).costMicros,
    failed: async (job, filter) => (await traced()).failedRowsOf(parts, job, filter),
    trace: async (job, asked) => (await traced()).traceRow(parts, job, asked, statusOf),
  };
}
