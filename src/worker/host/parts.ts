import { mkdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { ApplicationFailure } from '@temporalio/common';
import {
  AccountBreaker,
  type ActivityDeps,
  CircuitBreaker,
  createPurchase,
  createRuns,
  InFlight,
} from '../../activities/index.js';
import { createTransport, defaultTimeouts, type Transport } from '../../api/transport.js';
import { pricesAt } from '../../core/purchase/prices.js';
import { isJobId } from '../../core/rows/job.js';
import { entryAfter, stageOf } from '../../core/rows/job-entries.js';
import { SinkBusy } from '../../core/rows/sink.js';
import { MemorySlots } from '../../store/limiter/memory-slots.js';
import { FileSecrets } from '../../store/process/file-secrets.js';
import { Allowlist } from '../config/allowlist.js';
import { type RuntimeConfig, UsageError } from '../config/runtime-types.js';
import { sha256 } from '../config/sha256.js';
import { noteWalk } from '../control/find-walk.js';
import { noteState, refuseOtherUse } from '../staging/find-job.js';
import { freshnessOf } from '../staging/plan.js';
import { forgetEarlierStages, stageEnrichment, toStageRequest, whyPathsRefused } from '../staging/stage-job.js';
import type { LimitReservation } from '../store/limit-owner.js';
import { openStore } from '../store/open-store.js';
import type { Store, WorkerStore } from '../store/store.js';
import { openWarehouses } from '../warehouse/warehouses.js';
import { metered } from './metrics.js';
import { warnInActivity } from './warn-in-activity.js';

/** Research tasks in progress at most (public facts 6). Each process holds to it for itself. */
const RESEARCH_TASKS = 15;

/** The parts a worker process is made of, and how to take it apart again. */
export interface Parts {
  readonly deps: ActivityDeps;
  readonly transport: Transport;
  readonly inFlight: InFlight;
  readonly reservation: LimitReservation | null;
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
 * The parts of a worker with a store of its own. Throws `UsageError` where another worker has the folder.
 */
export async function openParts(config: RuntimeConfig): Promise<Parts & { readonly store: Store }> {
  const store = await openStore(config);
  try {
    const working = await store.work();
    if (!working) throw new UsageError(folderTaken(config, store));
    const parts = await assembleParts(config, store, working);
    return {
      ...parts,
      store,
      close: async () => {
        await parts.close();
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** What to tell a worker that finds another one of its folder. */
export function folderTaken({ stateDir }: RuntimeConfig, store: Store): string {
  return (
    `A worker runs in ${stateDir} already (PID ${store.holder() ?? 'unknown'}), and two with a journal of their own would buy ` +
    'the same rows twice. Give each its own folder and a share of the limit, or let them share a PostgreSQL (SEARCHFLOW_STORE=postgres://…)'
  );
}

/** Puts a worker's parts together: the one place where ports meet what implements them. */
export async function assembleParts(config: RuntimeConfig, store: Store, held: WorkerStore): Promise<Parts> {
  // Half a second of loading that a command without a worker does without.
  const { Runtime } = await import('@temporalio/worker');
  const scratchDir = join(config.stateDir, 'scratch');
  mkdirSync(scratchDir, { recursive: true, mode: 0o700 });
  const { transport, working, close } = metered(Runtime.instance().metricMeter, openTransport(config), held);
  const { journal, limiter, slots } = working;
  const researchSlots = new MemorySlots(RESEARCH_TASKS);
  const allowlist = new Allowlist(config, store.entries);
  const warehouses = openWarehouses(config, store.shared, allowlist);
  const inFlight = new InFlight(config.concurrency);
  const purchase = createPurchase({
    journal,
    limiter,
    inFlight,
    health: new CircuitBreaker(),
    accountBreaker: new AccountBreaker(),
  });
  const deps: ActivityDeps = {
    transport,
    origin: config.origin,
    journal,
    limiter,
    purchase,
    runs: createRuns({ transport, limiter, journal, slots, researchSlots }),
    maxCostPerJobMicros: config.maxCostPerJobMicros ?? null,
    prices: () => pricesAt(Date.now(), config.prices),
    sha256,
    stages: store.stages,
    sinkFor: (staged) => {
      if (staged.origin === undefined || staged.origin === config.origin) return warehouses.of(staged);
      // Its keys and pages would pass for those of another service.
      throw new SinkBusy(`The job is one of ${staged.origin}, a worker here works on ${config.origin}`, null);
    },
    secrets: config.secretFile ? new FileSecrets(config.secretFile) : null,
    events: warehouses.events,
    staged: async ({ job, generation, limit }) => {
      const entry = isJobId(job) ? await store.entries.get(job) : null;
      const stage = entry && stageOf(entry, generation);
      if (!stage)
        throw ApplicationFailure.nonRetryable(
          `staged: nothing of this name was staged in the folder or store of this worker; run the job's command again`,
          'BadInput',
        );
      const { limit: _, ...staged } = stage.staged;
      return { ...stage, staged: limit === undefined ? staged : { ...staged, limit } };
    },
    csvOf: async (stage, csv) => {
      // Where it may not, its command has named another one since.
      const isFine = csv === stage.csv || (await allowlist.whyRefused({ csv })) === null;
      return isFine ? csv : stage.csv;
    },
    noteState: (staged, state) => noteState(store.entries, staged, state),
    noteWalk: (walk, workflowId) => noteWalk(store.entries, walk, workflowId),
    monitors: warehouses.monitors,
    scratchDir,
    timeoutMs: defaultTimeouts.totalMs,
    stage: async (input, workflowId) => {
      if (input.host !== undefined && input.host !== hostname())
        throw new SinkBusy(`The file ${input.input} is on ${input.host}, where a worker must run for it`, null);
      const { input: file, into, csv } = input;
      await allowlist.check({ input: file, into, csv });
      const jobs = () => store.entries.all();
      const context = { ...config, shared: store.shared, cwd: process.cwd(), transport, jobs };
      const request = toStageRequest(input);
      const refused = whyPathsRefused(context, request);
      // It stays wrong however often it is tried.
      if (refused !== null) throw ApplicationFailure.nonRetryable(refused, 'BadInput');
      const { staged, before } = await stageEnrichment(context, request);
      await store.stages.share(staged);
      // Whoever started it, its pauses name commands that must find it.
      const named = input.job !== undefined;
      await store.entries.claim(workflowId, ({ owned, jobs }) => {
        refuseOtherUse(staged, named, jobs);
        const state = { phase: 'running' as const, since: Date.now() };
        const now = { staged, named, csv: input.csv ?? null, completed: before?.completed ?? null, state, workflowId };
        return { owned, entry: { job: staged.job, now: entryAfter(before, now) } };
      });
      forgetEarlierStages(staged);
      const { refreshAfterMs = null, retryFailed = false } = input;
      const freshness = input.freshness ?? freshnessOf({ refreshAfterMs, retryFailed, rebuy: false }, Date.now());
      return freshness ? { staged, freshness } : { staged };
    },
  };
  return {
    deps,
    transport,
    inFlight,
    reservation: held.reservation ?? null,
    close: async () => {
      close();
      await transport.close();
      await researchSlots.close();
      await held.close();
      await warehouses.close();
    },
  };
}
