/** The names by which the workflows for monitors, their updates and queries are known on the wire. They never change. */
export const monitorWorkflows = {
  batchMonitors: 'batchMonitors',
  createMonitor: 'createMonitor',
  monitorCall: 'monitorCall',
  quietMonitors: 'quietMonitors',
  quietTurn: 'quietTurn',
  exportMonitorRuns: 'exportMonitorRuns',
} as const;
export const monitorUpdates = { approve: 'approve', reject: 'reject' } as const;

/** The warehouse of what is done to monitors, where none is named. */
export const DEFAULT_MONITOR_WAREHOUSE = 'out/monitors.duckdb';
