import { setTimeout as sleep } from 'node:timers/promises';
import type { JobEntry } from '../../core/job-entry-schemas.js';
import { deferred } from '../../core/processes/deferred.js';
import type { Spend } from '../../core/purchase/spend.js';
import { Allowlist } from '../config/allowlist.js';
import type { CleanWish, EnrichRequest, RuntimeConfig, WorkflowAccess } from '../config/runtime-types.js';
import type { ForgetPlan } from '../control/forget.js';
import type { ForgetWish } from '../control/forget-subjects.js';
import type { FreeCall } from '../control/free-calls.js';
import { identify } from '../staging/job-id.js';
import { openStore } from '../store/open-store.js';
import { openWarehouses } from '../store/warehouses.js';
import { hasTemporalFile } from '../temporal-server/binary.js';
import { connectIfRunning, connectTemporal, type Temporal } from '../temporal-server/temporal.js';
import { jobLists } from './job-lists.js';
import { statusesOf } from './job-status.js';
import type { JobWork } from './job-work.js';
import { type PublishWish, publish } from './publish.js';
import type { ReportWish } from './report.js';
import { rowJobs } from './row-jobs.js';
import type { RuntimeParts } from './runtime-parts.js';

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
    stop: async (until: Promise<unknown>) => opened?.owners.stop('its command was stopped', until),
    team: teamView(parts),
    /** Sends a test alert to each receiver. Throws `UsageError` without one. */
    testAlerts: async () => (await import('../alerts/send-alert.js')).testAlerts(config),
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
    /** Client of the Temporal server if one answers; starts none. */
    running: async () => (await parts.connectIfRunning())?.client ?? null,
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
