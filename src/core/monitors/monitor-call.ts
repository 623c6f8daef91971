import type { Json } from '../text/json.js';

/** Operations on single monitors that a person calls (interface section 4.6). */
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
  /** The service that is meant, by its base URL, or `sandbox`; default: the worker's. A worker of another one leaves it alone. */
  readonly origin?: string;
  readonly operation: MonitorOperation;
  readonly input: { readonly [field: string]: Json };
}
