import type { Json } from '../text/json.js';

/** Operations on single monitors (API reference: /monitors). */
export const monitorOperations = [
  'getMonitor',
  'listMonitors',
  'updateMonitor',
  'deleteMonitor',
  'triggerMonitor',
  'listMonitorRuns',
  'getMonitorRun',
] as const;
export type MonitorOperation = (typeof monitorOperations)[number];

/** Input of the `monitorCall` workflow. */
export interface MonitorCall {
  /** Base URL of the service, or `sandbox`; default: the worker's. Workers of other services do not make the call. */
  readonly origin?: string;
  readonly operation: MonitorOperation;
  readonly input: { readonly [field: string]: Json };
  /** Sends misspelt names and values, too. Default: they are refused. */
  readonly unchecked?: boolean;
}
