import { setTimeout as sleep } from 'node:timers/promises';
import { deferred } from '../../core/processes/deferred.js';
import type { JobEntry } from '../../core/rows/job-entries.js';
import type { RuntimeConfig } from '../config/runtime-types.js';
import { openStore } from '../store/open-store.js';
import { openWarehouses } from '../store/warehouses.js';
import { connectIfRunning } from '../temporal-server/running-server.js';
import type { AcceptingServer, ConnectionSteps, Temporal } from '../temporal-server/temporal.js';
import { jobStatuses, StoreJobLists } from './job-lists.js';
import { publish } from './publish.js';
import { StoreRowJobs } from './row-jobs.js';
import type { RuntimeParts } from './runtime-parts.js';
import type { LazyWork, RuntimeWork } from './runtime-work.js';
import type { OpenRuntime, OwnWork, TeamView } from './views.js';

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
  const warehouses = openWarehouses(config, false);
  let temporal: Promise<Temporal> | null = null;
  let running: ReturnType<typeof connectIfRunning> | null = null;
  let loading: Promise<RuntimeWork> | null = null;
  let opened: RuntimeWork | null = null;
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
    rows: new StoreRowJobs(parts, work),
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
      if (options.worker) await (await work.load()).runHere();
      const { client } = await parts.connect();
      return { client, config, shared: store.shared, allow: async (input) => (await work.load()).allow(input) };
    },
    runWorker: async (ready, report) => (await work.load()).runWorker(ready, report),
    takeOver: async () => (await work.load()).takeOver(),
    inFlight: () => opened?.inFlight ?? 0,
    isStaging: () => opened?.isStaging ?? false,
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
  checkDetached: async (one) => (await work.load()).checkDetached(one),
  owned: async () => work.opened?.owned() ?? [],
  isAbandoned: async (workflowId) =>
    (await parts.store.entries.owned()).find((one) => one.workflowId === workflowId)?.living.length === 0,
  release: async (workflowId) => work.opened?.release(workflowId),
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
