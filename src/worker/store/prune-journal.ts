import { setTimeout as delay } from 'node:timers/promises';
import { ROWS_PREFIX } from '../../core/choices.js';
import type { JobEntry, StagedJob } from '../../core/job-entry-schemas.js';
import { unlessAborted } from '../../core/processes/wait-queue.js';
import type { RowProgress } from '../../core/rows/row-warehouse.js';
import { Allowlist } from '../config/allowlist.js';
import type { RuntimeConfig } from '../config/runtime-types.js';
import type { PurchaseJournal, Store } from './store.js';
import { openWarehouses } from './warehouses.js';

/** Times of a worker that runs for months: the first time after its start, then once a day. */
const TIMES = { firstMs: 600_000, everyMs: 86_400_000 };

type Kept = Pick<RuntimeConfig, 'origin' | 'keepLandingMs' | 'keepCallsMs'>;
type Pruned = Pick<Store, 'entries' | 'journal'>;
type WarehouseFor = (staged: StagedJob) => RowProgress;

/**
 * Removes old answers of done jobs and of single operations from the journal, now and then, with the warehouses of the worker. Returns a
 * function that ends it and resolves when no removal is in progress.
 */
export function pruneDaily(
  config: Kept,
  store: Pruned,
  warehouseFor: WarehouseFor,
  { firstMs, everyMs } = TIMES,
): () => Promise<void> {
  const stop = new AbortController();
  const { signal } = stop;
  const run = async () => {
    for (let waitMs = firstMs; !signal.aborted; waitMs = everyMs) {
      await delay(waitMs, undefined, { signal, ref: false }).catch(() => undefined);
      // A database that cannot be reached is asked again a day later.
      if (!signal.aborted) await pruneLoaded(config, store, warehouseFor, signal).catch(() => undefined);
    }
  };
  const ended = run();
  return async () => {
    stop.abort();
    await ended;
  };
}

/**
 * Removes old answers of done jobs from the journal if the warehouse has all their rows. A refused login or an unreachable database is not
 * reported, because the job is done anyway. An abort ends the wait for a database.
 */
export async function pruneJournal(
  config: RuntimeConfig,
  store: Pruned,
  isWanted: (staged: StagedJob) => boolean,
  signal?: AbortSignal,
): Promise<void> {
  const warehouses = openWarehouses({ ...config, say: () => undefined }, false, new Allowlist(config, store.entries));
  signal?.addEventListener('abort', () => void warehouses.close().catch(() => undefined), { once: true });
  try {
    await pruneLoaded(config, store, (staged) => warehouses.of(staged), signal, isWanted);
  } finally {
    await warehouses.close();
  }
}

/** A warehouse is queried only if there is something to remove. */
async function pruneLoaded(
  { origin, keepLandingMs, keepCallsMs }: Kept,
  store: Pruned,
  warehouseFor: WarehouseFor,
  signal?: AbortSignal,
  isWanted: (staged: StagedJob) => boolean = () => true,
): Promise<void> {
  const before = Date.now() - keepLandingMs;
  const journal = await store.journal();
  for (const prefix of ['calls/', ROWS_PREFIX]) await journal.prune(prefix, Date.now() - keepCallsMs);
  for (const entry of await store.entries.all()) {
    if (signal?.aborted) return;
    if (entry.staged.origin !== origin || !isWanted(entry.staged)) continue;
    if (await isPrunable(journal, entry, warehouseFor, before, signal))
      await journal.prune(`${entry.staged.job}/`, before);
  }
}

/** Whether a job is complete, its warehouse has all its rows, and the journal has answers of the job from before a time (Unix ms). */
export async function isPrunable(
  journal: Pick<PurchaseJournal, 'prunableBytes'>,
  { staged, completed }: Pick<JobEntry, 'staged' | 'completed'>,
  warehouseFor: WarehouseFor,
  before: number,
  signal?: AbortSignal,
): Promise<boolean> {
  if (completed !== staged.generation) return false;
  if ((await journal.prunableBytes(`${staged.job}/`, before)) === 0) return false;
  const loaded = loadedSlices(() => warehouseFor(staged), staged);
  return (await (signal ? unlessAborted(loaded, signal) : loaded)) === staged.slices;
}

/** The number of loaded slices; null if the warehouse is busy, missing or on another machine. */
async function loadedSlices(warehouse: () => RowProgress, staged: StagedJob): Promise<number | null> {
  try {
    return (await warehouse().loadedSlices(staged.job, staged.generation))?.length ?? null;
  } catch {
    return null;
  }
}
