import type { AgentRunStore } from '../core/agent-run-sync.js';
import type { Secret } from '../core/connections/secret.js';
import type { EventWarehouse } from '../core/events/event-warehouse.js';
import type { MonitorWarehouse } from '../core/monitors/monitor-warehouse.js';
import type { Publisher } from '../core/publish-request.js';
import type { RowWarehouse } from '../core/rows/row-warehouse.js';
import type { EventDatabase } from './events/event-sql.js';
import type { SourceDatabase } from './export/job-rows.js';
import type { RecordDatabase } from './monitors/record-fields.js';
import type { RowDatabase } from './rows/row-sql.js';
import type { SinkBatches } from './sink-batches.js';

/** One database, as the stores of a warehouse need it. */
export interface Database {
  /** The warehouse, for messages: a path, or an address without user and password. */
  readonly shown: string;
  /** The file of the warehouse; null for a warehouse on a server. */
  readonly file: string | null;
  /** Whether the warehouse exists. Never creates a file. */
  exists(): Promise<boolean>;
  readonly rows: RowDatabase;
  readonly events: EventDatabase;
  readonly records: RecordDatabase;
  readonly source: SourceDatabase;
  /** Runs work that opens the warehouse, and repeats it for some seconds while another process has the file. */
  patiently<T>(work: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

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
  /** Time for which work waits for an unavailable server before `WarehouseBusy`, in ms. */
  readonly patienceMs?: number;
  /**
   * Time in ms after which a server ends the transaction of a silent process (suspended, cut off, its machine gone), so that
   * its locks block no other process. Default: a minute.
   */
  readonly stalledMs?: number;
}
