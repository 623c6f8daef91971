import type { MonitorFilter } from './monitor-filter.js';

/** Input of the `exportMonitorRuns` workflow: plain JSON, usable from any Temporal SDK. */
export interface ExportMonitorRunsInput {
  /** The service that is meant, by its base URL, or `sandbox`; default: the worker's. A worker of another one leaves it alone. */
  readonly origin?: string;
  /** Default: all monitors. */
  readonly filter?: MonitorFilter;
  /** Warehouse to load into; default `out/monitors.duckdb` under the worker's directory. */
  readonly into?: string;
  /** Where the warehouse is a file and workers are on several machines: name of the machine that has it. */
  readonly host?: string;
}

/** What an export did; the query `progress` answers with it, too. */
export interface MonitorExport {
  readonly into: string;
  readonly monitors: number;
  /** Monitors whose runs are read to the last known one. */
  readonly read: number;
  /** Runs that were not there before. */
  readonly added: number;
  /** Runs that had not come to their end before, read again. */
  readonly again: number;
  /** Results of the runs read. */
  readonly results: number;
}
