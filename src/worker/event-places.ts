import { hostname } from 'node:os';
import type { WalkPlaces } from '../activities/walk-deps.js';
import { SinkBusy } from '../core/sink.js';
import { createEventWarehouses } from '../sinks/index.js';
import type { RuntimeConfig } from './runtime-types.js';

/** The warehouses for events of a process, as walks name them; a file of another machine is `SinkBusy`. */
export function openEventPlaces({
  say,
  warehouse,
}: Pick<RuntimeConfig, 'say' | 'warehouse'>): WalkPlaces & { close(): Promise<void> } {
  const warehouses = createEventWarehouses({
    say,
    credentialsFor: (address) => (warehouse?.shown === address ? warehouse.url : null),
  });
  return {
    warehouse({ into, host }) {
      if (host === undefined || host === hostname()) return warehouses.open(into);
      throw new SinkBusy(`The warehouse ${into} is a file on ${host}, where a worker must run for it`, null);
    },
    close: () => warehouses.close(),
  };
}
