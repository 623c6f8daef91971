import { setTimeout as sleep } from 'node:timers/promises';
import type { StreamListing, TypeCount } from '../../core/events/event-warehouse.js';
import { SinkBusy } from '../../core/rows/sink.js';

import type { RuntimeConfig } from '../config/runtime-types.js';
import { openWarehouses } from './warehouses.js';

/** What a warehouse holds of a service's events. */
export interface EventStatus {
  readonly streams: readonly StreamListing[];
  readonly types: readonly TypeCount[];
}

/** A worker closes its file a quarter of a second after its last load; one that loads all the time doesn't. */
const PATIENCE_MS = 8000;
const AGAIN_MS = 100;

/** Reads the marks of a warehouse itself, without Temporal. Rejects with `SinkBusy` where a worker has the file all the time. */
export async function readEventStatus(config: RuntimeConfig, into: string): Promise<EventStatus> {
  const warehouses = openWarehouses(config, false);
  const until = Date.now() + PATIENCE_MS;
  try {
    const warehouse = await warehouses.events.warehouse({ into });
    for (;;) {
      try {
        return { streams: await warehouse.streams(config.origin), types: await warehouse.counts(config.origin) };
      } catch (error) {
        if (!(error instanceof SinkBusy) || Date.now() > until) throw error;
        await sleep(AGAIN_MS);
      }
    }
  } finally {
    await warehouses.close();
  }
}
