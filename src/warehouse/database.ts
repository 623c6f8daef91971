import type { Secret } from '../core/connections/secret.js';
import type { Dialect, Transaction } from './dialect.js';
import type { SourceDatabase } from './export/job-rows.js';

/**
 * What a transaction changes; transactions that change the same tables run one at a time. `read`: nothing, so that an existing warehouse and the
 * right to read are enough; `write`: rows, monitors and agent runs; `careful`: the same, with memory for lines of any size; `events`: events and
 * watermarks; `fold`: current state; `all`: both.
 */
export type Purpose = 'read' | 'write' | 'careful' | 'events' | 'fold' | 'all';

/** One database, as the stores of a warehouse need it. */
export interface Database {
  /** The warehouse, for messages: a path, or an address without user and password. */
  readonly shown: string;
  /** The file of the warehouse; null for a warehouse on a server. */
  readonly file: string | null;
  /** Whether the warehouse exists. Never creates a file. */
  exists(): Promise<boolean>;
  readonly dialect: Dialect;
  /** Creates missing tables, and checks that existing tables are unchanged. */
  make(): Promise<void>;
  transaction<T>(purpose: Purpose, work: (tx: Transaction) => Promise<T>): Promise<T>;
  /** See `RowMarks.purgeForgotten`; the warehouse exists. */
  purge(): Promise<string | null>;
  readonly source: SourceDatabase;
  /** Runs work that opens the warehouse, and repeats it for some seconds while another process has the file. */
  patiently<T>(work: () => Promise<T>): Promise<T>;
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
