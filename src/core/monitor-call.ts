import type { Json } from './json.js';

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
  readonly operation: MonitorOperation;
  readonly input: { readonly [field: string]: Json };
}
