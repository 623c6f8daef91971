import type { MonitorFilter } from './monitor-filter.js';

/** Input of the `exportMonitorRuns` workflow: plain JSON, usable from any Temporal SDK. */
export interface ExportMonitorRunsInput {
  /** Base URL of the service, or `sandbox`; default: the worker's. Workers of other services do not run the export. */
  readonly origin?: string;
  /** Default: all monitors. */
  readonly filter?: MonitorFilter;
  /** Sends a misspelt status, too. Default: it is refused. */
  readonly unchecked?: boolean | undefined;
  /** Warehouse to load into; default `out/monitors.duckdb` under the worker's directory. */
  readonly into?: string;
  /** The machine that has the warehouse file, for workers on several machines. */
  readonly host?: string;
}

/** Counts of an export; also the answer of its `progress` query. */
export interface MonitorExport {
  readonly into: string;
  readonly monitors: number;
  /** Number of monitors whose new runs have all been read. */
  readonly read: number;
  /** Number of new runs. */
  readonly added: number;
  /** Number of runs that were read again because they had not ended at the last export. */
  readonly again: number;
  /** Number of results in the runs that were read. */
  readonly results: number;
}
