import type { AgentRunStore } from '../core/agent-run-sync.js';
import type { EventWarehouse } from '../core/events/event-warehouse.js';
import type { MonitorWarehouse } from '../core/monitors/monitor-warehouse.js';
import type { Publisher } from '../core/publish-request.js';
import type { RowWarehouse } from '../core/rows/row-warehouse.js';
import { hasDatabaseForm, warehouseAddress } from './addresses.js';
import { createAgentRunStore } from './agent-run-store.js';
import type { WarehousesOptions } from './database.js';
import { duckDbDatabase } from './duckdb/database.js';
import { createEventStore } from './events/event-store.js';
import { createExports } from './export/create-exports.js';
import { createBatchAudit } from './monitors/batch-audit.js';
import { createMonitorRuns } from './monitors/run-store.js';
import { postgresDatabase } from './postgres/database.js';
import { createRowLoads } from './rows/row-loads.js';
import { createRowMarks } from './rows/row-marks.js';
import { createRowReads } from './rows/row-reads.js';
import { createSinkBatches, type SinkBatches } from './sink-batches.js';

/** The stores of one address, and the publisher of their tables. They share one DuckDB instance or one pool of connections. */
export interface OpenedWarehouse {
  readonly rows: RowWarehouse;
  readonly events: EventWarehouse;
  readonly monitors: MonitorWarehouse;
  readonly agentRuns: AgentRunStore;
  readonly publisher: Publisher;
  /** The batches of a sink, if loads keep them. */
  readonly batches: SinkBatches;
  /** Closes the warehouse after the waiting work. A later use opens the warehouse again. */
  close(): Promise<void>;
}

/** The warehouses of a process, one object for each address. */
export interface Warehouses {
  /**
   * The warehouse at an address: the path of a DuckDB file, or `postgres://host:port/database?schema=name`. Throws `WarehouseUnusable`
   * for a text that is not an address.
   */
  open(address: string): OpenedWarehouse;
  /** Closes all warehouses after the waiting work. */
  close(): Promise<void>;
}

/** Opens one warehouse, see {@link Warehouses}. Nothing is read or created before the first use. */
export function openWarehouse(address: string, options: WarehousesOptions = {}): OpenedWarehouse {
  const database = (hasDatabaseForm(address) ? postgresDatabase : duckDbDatabase)(address, options);
  // Loaded by the first publish, because few commands publish.
  const publisher = async () => (await import('./publish/create-publisher.js')).createPublisher(database, options);
  return {
    rows: {
      ...createRowLoads(database, options.say),
      ...createRowMarks(database),
      ...createRowReads(database),
      ...createExports(database, options),
      close: database.close,
    },
    events: createEventStore(database),
    monitors: { audit: createBatchAudit(database), runs: createMonitorRuns(database), close: database.close },
    agentRuns: createAgentRunStore(database),
    batches: createSinkBatches(database),
    publisher: {
      publish: async (request) => (await publisher()).publish(request),
      check: async (to) => (await publisher()).check(to),
    },
    close: database.close,
  };
}

export function createWarehouses(options: WarehousesOptions = {}): Warehouses {
  const opened = new Map<string, OpenedWarehouse>();
  return {
    open(address) {
      // Two addresses with different ways to connect to one database get two warehouses here. These two warehouses share no connection.
      const known = warehouseAddress(address);
      const warehouse = opened.get(known) ?? openWarehouse(address, options);
      opened.set(known, warehouse);
      return warehouse;
    },
    async close() {
      await Promise.all([...opened.values()].map((warehouse) => warehouse.close()));
    },
  };
}
