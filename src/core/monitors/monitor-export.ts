import type { MonitorFilter } from './monitor-filter.js';

/** Input of the `exportMonitorRuns` workflow: plain JSON, usable from any Temporal SDK. */
export interface ExportMonitorRunsInput {
  /** Base URL of the service, or `sandbox`; default: the worker's. Workers of other services do not run the export. */
  readonly origin?: string;
  /** Default: all monitors. */
  readonly filter?: MonitorFilter;
  /** Warehouse to load into; default `out/monitors.duckdb` under the worker's directory. */
  readonly into?: string;
  /** For workers on several machines and a warehouse that is a file: the machine that has the file. */
  readonly host?: string;
}

/** Counts of an export; also the answer of its `progress` query. */
export interface MonitorExport {
  readonly into: string;
  readonly monitors: number;
  /** Monitors whose new runs are all read. */
  readonly read: number;
  /** New runs. */
  readonly added: number;
  /** Runs that had not ended at the last export, read again. */
  readonly again: number;
  /** Results of the runs read. */
  readonly results: number;
}
