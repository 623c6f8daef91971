import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { addressSecrets } from '../../core/connections/address-secrets.js';
import { STORE_SCHEMA } from '../../core/connections/postgres-address.js';
import { mayHoldSecret } from '../../core/connections/secret.js';
import { unlessAborted } from '../../core/processes/wait-queue.js';
import { backoffMs } from '../../core/purchase/backoff.js';
import { type Sink, whyNoSink } from '../../core/rows/sink.js';
import { WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import { type OpenedWarehouse, openWarehouse, type SinkBatches } from '../../warehouse/index.js';
import type { RuntimeConfig } from '../config/runtime-types.js';

type SinkConfig = Pick<RuntimeConfig, 'sinks' | 'stateDir' | 'store' | 'say'>;
/** The batches to load; see `SinkBatches.pending`. */
type BatchesOf = Parameters<SinkBatches['pending']>[0];
type Deliver = (of: BatchesOf) => Promise<void>;

/** Time limit of one `load` in seconds, if the sink has none. */
const USUAL_SECONDS = 300;
/** Number of failed loads of a batch after which its job fails; the next run has as many. */
const MOST_FAILURES = 10;
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 60_000;
/** Characters of an owner's error that are shown. */
const MOST_CHARACTERS = 300;

/**
 * Opens sinks by name. The record of a worker has a warehouse for each sink: a file of its folder, or a schema of its PostgreSQL database.
 * Jobs land their rows there and read there what they know, and each load keeps its rows as a batch until the sink has loaded the batch.
 */
export function openSinks(config: SinkConfig) {
  const opened = new Map<string, { readonly landing: OpenedWarehouse; readonly warehouse: OpenedWarehouse }>();
  const open = (name: string) => {
    const landing = openWarehouse(placeOf(config, name), { say: config.say });
    const why = whyNoSink(`sink:${name}`, config.sinks);
    const sink = why === null ? config.sinks?.[name] : undefined;
    const deliver = sink
      ? delivery(name, sink, landing.batches)
      : () => Promise.reject(new WarehouseUnusable('sink-unknown', why ?? ''));
    return { landing, warehouse: sinkWarehouse(name, landing, deliver, sink !== undefined) };
  };
  return {
    open(name: string): OpenedWarehouse {
      const one = opened.get(name) ?? open(name);
      opened.set(name, one);
      return one.warehouse;
    },
    async close() {
      await Promise.all([...opened.values()].map(({ landing }) => landing.close()));
    },
  };
}

/** The address of the warehouse in the record that holds what a sink gets. */
function placeOf({ stateDir, store }: SinkConfig, name: string): string {
  if (!store) {
    const folder = join(stateDir, 'sinks');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return join(folder, `${name}.duckdb`);
  }
  const url = new URL(store.url.reveal());
  url.searchParams.set('schema', `${url.searchParams.get('schema') ?? STORE_SCHEMA}_sink_${name}`);
  return url.href;
}

/**
 * Gives batches to the sink, those that landed first before the others. Two callers of this process wait for one load of a batch; two
 * processes may both load it.
 */
function delivery(name: string, sink: Sink, batches: SinkBatches): Deliver {
  const loading = new Map<string, Promise<void>>();
  return async (of) => {
    await batches.make();
    for (const id of await batches.pending(of)) {
      const one = loading.get(id) ?? loadOnce(name, sink, batches, id).finally(() => loading.delete(id));
      loading.set(id, one);
      await one;
    }
  };
}

async function loadOnce(name: string, sink: Sink, batches: SinkBatches, id: string): Promise<void> {
  const batch = await batches.read(id);
  // Another worker has loaded it meanwhile.
  if (batch === null) return;
  // The modules are loaded here, because commands open warehouses, too, and do not need Temporal.
  const { asyncLocalStorage } = await import('@temporalio/activity');
  const { ApplicationFailure } = await import('@temporalio/common');
  const { timeoutSeconds = USUAL_SECONDS } = sink;
  const timeUp = AbortSignal.timeout(timeoutSeconds * 1000);
  const cancelled = asyncLocalStorage.getStore()?.cancellationSignal;
  const signal = cancelled ? AbortSignal.any([timeUp, cancelled]) : timeUp;
  try {
    await unlessAborted(sink.load(batch, { signal }), signal);
  } catch (error) {
    if (cancelled?.aborted) throw cancelled.reason;
    const why = timeUp.aborted ? `it took longer than ${timeoutSeconds} s` : reasonOf(error);
    const nth = (await batches.failed(id)) % MOST_FAILURES;
    const message = `The sink ${name} has not loaded batch ${id} of ${batch.job} (${batch.rows.length} rows): ${why}`;
    if (nth === 0)
      throw new WarehouseUnusable(
        'sink-failed',
        `${message}. It failed ${MOST_FAILURES} times. Fix it, then start the job again: its next run continues with this batch, and nothing is bought twice`,
      );
    throw ApplicationFailure.create({
      type: 'SinkFailed',
      message,
      nextRetryDelay: backoffMs(nth - 1, FIRST_WAIT_MS, LONGEST_WAIT_MS, 1),
      details: [{ errorCode: 'sink-failed' }],
    });
  }
  await batches.loaded(id);
}

/** The first line of an error of the owner, unless it may hold a password, which histories would keep. */
function reasonOf(error: unknown): string {
  const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  const isSecret = mayHoldSecret(line) || addressSecrets(line).length > 0;
  return isSecret ? 'its error is not shown, because it may contain a password' : line.slice(0, MOST_CHARACTERS);
}

/** The warehouse of a sink: loads also deliver, and what only a warehouse has is refused. */
function sinkWarehouse(name: string, landing: OpenedWarehouse, deliver: Deliver, isKnown: boolean): OpenedWarehouse {
  const { rows, events, monitors, batches } = landing;
  /** The record keeps the batches of a load, and the sink gets them. */
  const loading = async <T>(of: BatchesOf, load: () => Promise<T>): Promise<T> => {
    await batches.make();
    const loaded = await load();
    await deliver(of);
    return loaded;
  };
  const elsewhere = async (): Promise<never> => {
    throw new WarehouseUnusable(
      'rows-in-sink',
      `The rows of this job are in the sink ${name}, which searchflow does not read. Read them there`,
    );
  };
  const unfit = async (): Promise<never> => {
    throw new WarehouseUnusable(
      'option-unusable',
      `into: the sink ${name} takes rows, events and runs of monitors. Name a warehouse`,
    );
  };
  return {
    ...landing,
    rows: {
      ...rows,
      openJob: async (job, files, freshness) => {
        // A worker without the sink would buy rows that it cannot load.
        if (!isKnown) await deliver({ table: 'rows' });
        return rows.openJob(job, files, freshness);
      },
      load: (batch, freshness) =>
        loading({ table: 'rows', job: batch.job, piece: batch.slice }, () => rows.load(batch, freshness)),
      loadRetry: (batch) => loading({ table: 'rows', job: batch.job, piece: -1 }, () => rows.loadRetry(batch)),
      // The first step at the end of a job: what earlier attempts left is delivered.
      unloadedSlices: (job, freshness) =>
        loading({ table: 'rows', job: job.job }, () => rows.unloadedSlices(job, freshness)),
      ...{ failedUnits: elsewhere, rowStates: elsewhere, markRows: elsewhere, unmarkRows: elsewhere },
      ...{ misreadAnswers: elsewhere, putAnswers: elsewhere, exportCsv: elsewhere, exportParquet: elsewhere },
      ...{ failedRows: elsewhere, placeOf: elsewhere, figures: elsewhere },
    },
    events: {
      ...events,
      load: async (batch) => {
        await batches.make();
        const loaded = await events.load(batch);
        for (const job of new Set(batch.map(({ stream }) => stream))) await deliver({ table: 'events', job });
        return loaded;
      },
      foldAll: (origin) => loading({ table: 'events' }, () => events.foldAll(origin)),
    },
    monitors: {
      ...monitors,
      audit: refusing(unfit),
      runs: {
        ...monitors.runs,
        loadRuns: (origin, mark, monitor, runs) =>
          loading({ table: 'monitor_runs' }, () => monitors.runs.loadRuns(origin, mark, monitor, runs)),
        counts: (origin, mark) => loading({ table: 'monitor_runs' }, () => monitors.runs.counts(origin, mark)),
      },
    },
    agentRuns: refusing(unfit),
    publisher: { publish: elsewhere, check: elsewhere },
  };
}

/** A port whose methods all reject. */
const refusing = <Port extends object>(reject: () => Promise<never>): Port =>
  new Proxy({} as Port, { get: (_, name) => (name === 'then' ? undefined : reject) });
