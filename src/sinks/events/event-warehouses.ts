import type { EventWarehouse } from '../../core/event-warehouse.js';
import { isPostgresUrl } from '../../postgres/index.js';
import { createDuckDbEvents } from '../duckdb/events/duckdb-events.js';
import { createPostgresEvents } from '../postgres/events/postgres-events.js';
import { type SinksOptions, warehouseAddress } from '../sinks.js';

/** The warehouses for events of a process, one an address however often it is asked for; addresses as for `createSinks`. */
export interface EventWarehouses {
  open(address: string): EventWarehouse;
  close(): Promise<void>;
}

export function createEventWarehouses(options: SinksOptions = {}): EventWarehouses {
  const { credentialsFor, say } = options;
  const opened = new Map<string, EventWarehouse>();
  const make = (address: string, known: string) => {
    if (!isPostgresUrl(address)) return createDuckDbEvents({ file: known });
    return createPostgresEvents(credentialsFor?.(known)?.reveal() ?? address, say ? { say } : {});
  };
  return {
    open(address) {
      const known = warehouseAddress(address);
      const warehouse = opened.get(known) ?? make(address, known);
      opened.set(known, warehouse);
      return warehouse;
    },
    async close() {
      await Promise.all([...opened.values()].map((one) => one.close()));
    },
  };
}
