import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StreamListing, TypeCount } from '../../core/events/event-warehouse.js';
import type { WalkEntry } from '../../core/job-entry-schemas.js';
import { WarehouseBusy } from '../../core/rows/warehouse-errors.js';
import { warehouseFile } from '../../warehouse/index.js';
import type { RuntimeConfig, WalkStatus } from '../config/runtime-types.js';
import { type OpenWarehouses, openWarehouses } from './warehouses.js';

export interface EventStatus {
  readonly streams: readonly StreamListing[];
  readonly types: readonly TypeCount[];
}

/** Longest wait for a worker to close its DuckDB file. A worker closes the file a quarter of a second after its last load. */
const PATIENCE_MS = 8000;
const AGAIN_MS = 100;
/** A database that does not answer for this long counts as silent. */
const SILENT_MS = 3000;

/**
 * Reads watermarks and counts from a warehouse, without Temporal. Rejects with `WarehouseBusy` if another process keeps the file for `patienceMs`,
 * or if the database does not answer within 3 s.
 */
export async function readEventStatus(
  config: RuntimeConfig,
  into: string,
  patienceMs = PATIENCE_MS,
): Promise<EventStatus> {
  const warehouses = openWarehouses(config, false);
  const reading = readMarks(warehouses, config, into, patienceMs);
  const closing = reading.then(
    () => warehouses.close(),
    () => warehouses.close(),
  );
  if (warehouseFile(into) === null) {
    const silent = Symbol('silent');
    const first = await Promise.race([reading, sleep(SILENT_MS, silent, { ref: false })]);
    // The warehouse is not closed: closing would wait for the silent database, too.
    if (first === silent)
      throw new WarehouseBusy('postgres-unreachable', `${into} did not answer within ${SILENT_MS / 1000} s`, null);
  }
  return reading.finally(() => closing);
}

async function readMarks(
  warehouses: OpenWarehouses,
  { origin }: RuntimeConfig,
  into: string,
  patienceMs: number,
): Promise<EventStatus> {
  const warehouse = await warehouses.events.warehouse({ into });
  return patiently(
    async () => ({ streams: await warehouse.streams(origin), types: await warehouse.counts(origin) }),
    patienceMs,
  );
}

/** Repeats a read while another process has the warehouse, for a few seconds. */
export async function patiently<T>(read: () => Promise<T>, patienceMs = PATIENCE_MS): Promise<T> {
  const until = Date.now() + patienceMs;
  for (;;) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof WarehouseBusy) || Date.now() > until) throw error;
      await sleep(AGAIN_MS);
    }
  }
}

/** How long a list of jobs waits for a warehouse that another process has. */
const LISTED_MS = 500;

/**
 * Returns the states of walks by their warehouses alone; null for a warehouse that cannot be read now. Each warehouse is read once, and one
 * after the other, because a DuckDB file can be opened only once at a time.
 */
export function ledgerOfWalks(config: RuntimeConfig) {
  const read = new Map<string, Promise<EventStatus | null>>();
  let last: Promise<unknown> = Promise.resolve();
  return async ({ into, origin, stream }: WalkEntry): Promise<Pick<WalkStatus, 'phase' | 'since'>> => {
    const name = `${origin} ${into}`;
    const reading =
      read.get(name) ?? last.then(() => readEventStatus({ ...config, origin }, into, LISTED_MS).catch(() => null));
    read.set(name, reading);
    last = reading;
    const { pending = [], completedAt = null } = (await reading)?.streams.find((one) => one.stream === stream) ?? {};
    if (pending.length > 0) return { phase: 'stopped', since: null };
    return { phase: completedAt === null ? null : 'done', since: completedAt };
  };
}

/** Short name of a walk: `events-sync`, `events-backfill` or `events-verify`. */
export function walkName({ stream }: Pick<WalkEntry, 'stream'>): string {
  return `events-${stream.split(' ', 1)[0]}`;
}

export function isMissingFile(into: string): boolean {
  const file = warehouseFile(into);
  return file !== null && !existsSync(file);
}
