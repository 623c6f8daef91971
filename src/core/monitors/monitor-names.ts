/** Wire names of the workflows for monitors and of their updates. The names never change. */
export const monitorWorkflows = {
  batchMonitors: 'batchMonitors',
  createMonitor: 'createMonitor',
  monitorCall: 'monitorCall',
  exportMonitorRuns: 'exportMonitorRuns',
} as const;
/** `runsChanged`: monitors have new runs; an export reads them again after the present one. */
export const monitorSignals = { runsChanged: 'runsChanged' } as const;
export const monitorUpdates = { approve: 'approve', reject: 'reject' } as const;

export const DEFAULT_MONITOR_WAREHOUSE = 'out/monitors.duckdb';
