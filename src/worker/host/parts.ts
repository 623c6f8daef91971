import { AsyncLocalStorage } from 'node:async_hooks';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { asyncLocalStorage } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import {
  AccountBreaker,
  type ActivityDeps,
  type AllActivities,
  CircuitBreaker,
  createActivities,
  createPurchase,
  createRuns,
  InFlight,
  Places,
} from '../../activities/index.js';
import { createTransport, defaultTimeouts, type Transport } from '../../api/transport.js';
import { deferred } from '../../core/processes/deferred.js';
import { stepMode } from '../../core/publish-request.js';
import { freshnessOf } from '../../core/purchase/freshness.js';
import { pricesAt } from '../../core/purchase/prices.js';
import { entryAfter, stageOf } from '../../core/rows/job-entries.js';
import { isJobId, jobOfWorkflow } from '../../core/rows/job-ids.js';
import { WarehouseBusy } from '../../core/rows/warehouse-errors.js';
import { makeFolder } from '../../files/make-folder.js';
import { FileSecrets } from '../../store/process/file-secrets.js';
import { openAlerts } from '../alerts.js';
import { Allowlist } from '../config/allowlist.js';
import { whyNoKey, whyNoPublish, whyNotHere } from '../config/publish-step.js';
import { type Log, type RuntimeConfig, UsageError } from '../config/runtime-types.js';
import { sha256 } from '../config/sha256.js';
import { watchSchedules } from '../schedules/schedule-watch.js';
import { createSendAlert, watchCaps } from '../send-alert.js';
import { noteOpened, noteState, refuseOtherUse } from '../staging/find-job.js';
import { askedOf, forgetEarlierStages, stageEnrichment, stagingIn } from '../staging/stage-job.js';
import { openStore } from '../store/open-store.js';
import { pruneDaily } from '../store/prune-journal.js';
import type { Store, WorkerStore } from '../store/store.js';
import { teamOf } from '../store/team.js';
import { openWarehouses } from '../store/warehouses.js';
import { standHere } from '../temporal-server/pollers.js';
import {
  type ActivityIds,
  countsOf,
  failedRequest,
  failureType,
  gaugeBudget,
  gaugeStore,
  gaugeTemporal,
  metered,
  meteredEvents,
  type Observer,
  observedActivities,
  observedTransport,
  requestMetrics,
} from './metrics.js';

/**
 * Logs the end of each activity with the ids of its job, slice or window, workflow and activity, and each request with the id that the
 * service gave it and the ids of its activity. Inputs and answers are never logged.
 */
function workLog(log: Log): Observer {
  const current = new AsyncLocalStorage<ActivityIds>();
  return {
    activity: (ids, call) => {
      const startedAt = performance.now();
      const ended = (level: 'INFO' | 'WARN', message: string, more: object) =>
        log({ level, message, ...ids, seconds: secondsSince(startedAt), ...more });
      return current.run(ids, async () => {
        try {
          const result = await call();
          ended('INFO', `${ids.activity} ended`, countsOf(result));
          return result;
        } catch (error) {
          const { type, isExpected } = failureType(error);
          ended(isExpected ? 'INFO' : 'WARN', `${ids.activity} failed`, { failure: type });
          throw error;
        }
      });
    },
    request: async ({ name: operation }, call) => {
      const startedAt = performance.now();
      const ended = (level: 'INFO' | 'WARN', outcome: string, requestId: string | null, more: object = {}) =>
        log({
          ...{ level, message: 'request', operation, outcome, requestId, ...current.getStore() },
          ...{ seconds: secondsSince(startedAt), ...more },
        });
      try {
        const answer = await call();
        ended('INFO', 'ok', answer.requestId);
        return answer;
      } catch (error) {
        const failed = failedRequest(error);
        if (failed) {
          const { status, tag } = failed.facts;
          ended('WARN', failed.verdict.type, failed.requestId, { status, tag });
        }
        throw error;
      }
    },
  };
}

const secondsSince = (startedAt: number) => Math.round(performance.now() - startedAt) / 1000;

/** Writes a warning to the log of the current activity, if there is one. */
function warnInActivity(message: string): void {
  asyncLocalStorage.getStore()?.log.warn(message);
}

/** Longest waits, when a worker ends, for the first attempts to deliver its alerts and for the last check of caps, in ms. */
const ALERTS_MS = 3000;
const CAPS_MS = 1000;

/** The parts of a worker process, with a function that closes them. */
export interface Parts {
  readonly deps: ActivityDeps;
  /** The activities, with their log. */
  readonly activities: AllActivities;
  readonly transport: Transport;
  readonly inFlight: InFlight;
  /** Shows whether Temporal answers, and reports alerts there, until the parts are closed. Call this before an activity runs. */
  watchTemporal(client: Client): void;
  /** Waits briefly for the alerts of this worker. Call this while the worker runs; the next worker delivers the rest. */
  sendAlerts(): Promise<void>;
  close(): Promise<void>;
}

export function openTransport(config: RuntimeConfig): Transport {
  const { baseUrl, apiKey, concurrency, say, wire } = config;
  const warn = ({ message }: { readonly message: string }) => {
    say(message);
    warnInActivity(message);
  };
  return createTransport({ ...wire, baseUrl, apiKey, connections: concurrency, warn });
}

/**
 * Opens the store and the parts of a worker. Throws `UsageError` if another worker has the folder.
 */
export async function openParts(config: RuntimeConfig): Promise<Parts & { readonly store: Store }> {
  const store = await openStore(config);
  try {
    const working = await store.work();
    if (!working) throw new UsageError('state-folder-in-use', folderTaken(config, store));
    const parts = await assembleParts(config, store, working);
    const standing = store.shared ? null : standHere(config);
    return {
      ...parts,
      store,
      close: async () => {
        standing?.release();
        await parts.close();
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Message for a worker whose folder another worker holds. */
export function folderTaken({ stateDir }: RuntimeConfig, store: Store): string {
  return (
    `Another worker is running in ${stateDir} (PID ${store.holder() ?? 'unknown'}). Two workers would buy the same rows twice. ` +
    'Give each its own folder and a share of the limit (--qps), or let both share a PostgreSQL store (SEARCHFLOW_STORE=postgres://…)'
  );
}

/** Assembles the parts of a worker. This is the only place where ports meet their implementations. */
export async function assembleParts(config: RuntimeConfig, store: Store, held: WorkerStore): Promise<Parts> {
  // The module is loaded here, because loading takes half a second, and a command without a worker does not need the module.
  const { Runtime } = await import('@temporalio/worker');
  const scratchDir = join(config.stateDir, 'scratch');
  makeFolder(scratchDir);
  const meter = Runtime.instance().metricMeter;
  const observers = [requestMetrics(meter), ...(config.log ? [workLog(config.log)] : [])];
  const transport = observedTransport(openTransport(config), observers);
  const { working, close } = metered(meter, held);
  const { journal, limiter, slots } = working;
  const gauges = [gaugeBudget(meter, journal), gaugeStore(meter, store.entries)];
  const allowlist = new Allowlist(config, store.entries);
  const warehouses = openWarehouses(config, store.shared, allowlist);
  const walks = meteredEvents(meter, warehouses.events);
  const inFlight = new InFlight(config.concurrency);
  const bought = createPurchase({
    journal,
    limiter,
    inFlight,
    health: new CircuitBreaker(),
    accountBreaker: new AccountBreaker(),
  });
  const temporal = deferred<Client>();
  const alerts = openAlerts(config, () => temporal.promise);
  const sendAlert = createSendAlert(config);
  const caps = { spend: journal, book: alerts, origin: config.origin, team: teamOf(config) };
  const reportsCaps = config.alerts?.on.some((type) => type.startsWith('cap.'));
  const { purchase, checked } = reportsCaps
    ? watchCaps(bought, caps)
    : { purchase: bought, checked: async () => undefined };
  const lastCheck = () => Promise.race([checked(), delay(CAPS_MS, undefined, { ref: false })]);
  const deps: ActivityDeps = {
    transport,
    alerts,
    sendAlert: (delivery) => sendAlert(delivery).finally(() => alerts.attempted(delivery)),
    origin: config.origin,
    host: hostname(),
    servedElsewhere: (meant) => store.servedElsewhere(meant),
    journal,
    limiter,
    places: new Places(limiter),
    purchase,
    runs: createRuns({ transport, limiter, journal, slots }),
    maxCostPerJobMicros: config.maxCostPerJobMicros ?? null,
    prices: () => pricesAt(Date.now(), config.prices),
    sha256,
    stages: store.stages,
    isShared: store.shared,
    warehouseFor: (staged) => {
      if (staged.origin === config.origin) return warehouses.of(staged);
      // The job is refused here: its keys and pages would be mixed with those of another service.
      throw new WarehouseBusy(
        'other-service',
        `The job belongs to ${staged.origin}, and this worker uses ${config.origin}`,
        null,
      );
    },
    secrets: config.secretFile ? new FileSecrets(config.secretFile) : null,
    events: walks.events,
    staged: async ({ job, generation, limit }) => {
      const entry = isJobId(job) ? await store.entries.get(job) : null;
      const stage = entry && stageOf(entry, generation);
      if (!stage)
        throw ApplicationFailure.nonRetryable(
          `staged: this worker's folder or store has no staged rows of that name. Run the job's command again`,
          'BadInput',
        );
      const { limit: _, ...staged } = stage.staged;
      const beforeMicros = entry.opened?.beforeMicros ?? 0;
      return { ...stage, beforeMicros, staged: limit === undefined ? staged : { ...staged, limit } };
    },
    csvOf: async (stage, csv) => {
      // If `csv` is not allowed, the job's command has named another file in the meantime.
      const isAllowed = csv === stage.csv || (await allowlist.whyRefused({ csv })) === null;
      return isAllowed ? csv : stage.csv;
    },
    publishing: {
      check: async (step, staged) => {
        const refuse = (why: string | null) => {
          if (why !== null) throw ApplicationFailure.nonRetryable(`publish: ${why}.`, 'BadInput');
        };
        refuse(whyNoPublish(step) ?? whyNoKey(step, staged));
        await allowlist.check({ publish: step.to });
        refuse(whyNotHere(step, staged, config.duckDbExtensions ?? null));
      },
      publish: (staged, { to, key = [], partition = null, ...step }) =>
        warehouses.publisher(staged).publish({
          ...{ subject: { job: staged.job }, to, mode: stepMode({ ...step, key }), key, partition },
        }),
    },
    noteState: (staged, state) => noteState(store.entries, staged, state),
    noteOpened: (job, opened) => noteOpened(store.entries, job, opened),
    noteWalk: ({ origin, stream, into, host }, workflowId) =>
      store.entries.putWalk({ job: jobOfWorkflow(workflowId), workflowId, origin, stream, into, host }),
    monitors: warehouses.monitors,
    agentRuns: warehouses.agentRuns,
    scratchDir,
    timeoutMs: defaultTimeouts.totalMs,
    stage: async (input, { workflowId, schedule, signal }) => {
      if (input.host !== undefined && input.host !== hostname())
        throw new WarehouseBusy(
          'file-on-another-machine',
          `The file ${input.input} is on ${input.host}. Run a worker there`,
          null,
        );
      const { input: file, into, csv } = input;
      await allowlist.check({ input: file, into, csv, publish: input.publish?.to });
      const checkFiles = async (files: readonly string[]) => {
        for (const one of files) await allowlist.checkFile(one, file);
      };
      const context = { ...stagingIn(config, store, transport), checkFiles, signal };
      const { staged, before } = await stageEnrichment(context, input);
      await store.stages.share(staged);
      const freshness = input.freshness ?? freshnessOf(input, Date.now());
      // Messages of a paused job name commands. These commands must find the job, so the job needs an entry.
      const named = input.job != null;
      await store.entries.claim(workflowId, ({ owned, jobs }) => {
        refuseOtherUse(staged, named, jobs);
        const state = { phase: 'running' as const, since: Date.now() };
        const now = {
          ...{ staged, named, csv: input.csv ?? null, completed: before?.completed ?? null, state, workflowId },
          ...{ schedule, asked: askedOf(input, freshness) },
        };
        return { owned, entry: { job: staged.job, now: entryAfter(before, now) } };
      });
      forgetEarlierStages(staged);
      return freshness ? { staged, freshness } : { staged };
    },
  };
  const endPruning = pruneDaily(config, store, deps.warehouseFor);
  return {
    deps,
    activities: observedActivities(createActivities(deps), observers),
    transport,
    inFlight,
    watchTemporal: (client) => {
      temporal.resolve(client);
      gauges.push(gaugeTemporal(meter, client));
      if (!config.alerts) return;
      const { taskQueue, origin } = config;
      const { lagMs } = config.alerts;
      gauges.push(watchSchedules(client, { taskQueue, origin, book: alerts, events: warehouses.events, lagMs }));
    },
    sendAlerts: async () => {
      await lastCheck();
      await alerts.settled(ALERTS_MS);
    },
    close: async () => {
      await lastCheck();
      close();
      for (const end of gauges) end();
      walks.close();
      await endPruning();
      await transport.close();
      await held.close();
      await warehouses.close();
    },
  };
}
