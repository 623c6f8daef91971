import type { AgentRunStore } from '../../core/agent-run-sync.js';
import type { Secret } from '../../core/connections/secret.js';
import type { EventWarehouse } from '../../core/events/event-warehouse.js';
import type { MonitorWarehouse } from '../../core/monitors/monitor-warehouse.js';
import type { Publisher } from '../../core/publish-request.js';
import type { RowWarehouse } from '../../core/rows/row-warehouse.js';

/** The stores of one address, and the publisher of their tables. They share one DuckDB instance or one pool of connections. */
export interface OpenedWarehouse {
  readonly rows: RowWarehouse;
  readonly events: EventWarehouse;
  readonly monitors: MonitorWarehouse;
  readonly agentRuns: AgentRunStore;
  readonly publisher: Publisher;
  /** Closes the warehouse after the waiting work. A later use opens the warehouse again. */
  close(): Promise<void>;
}

export type FileCheck = (names: {
  readonly into?: string;
  readonly csv?: string;
  readonly publish?: string;
}) => Promise<void>;

export interface WarehousesOptions {
  /** Receives a sentence about each long operation. */
  readonly say?: (sentence: string) => void;
  /**
   * Returns the whole URL, with user and password, of the warehouse at this address. If the function returns null, the driver reads
   * `PGUSER`, `PGPASSWORD` and `.pgpass`. Jobs and histories hold only addresses without credentials.
   */
  readonly credentialsFor?: (address: string) => Secret | null;
  /** Throws if this process must not use the warehouse file, or write the CSV or target; all are real paths. Absent: all may be used. */
  readonly check?: FileCheck | undefined;
  /** Folder with extensions of DuckDB, for targets that need one. */
  readonly extensions?: string | null;
}
