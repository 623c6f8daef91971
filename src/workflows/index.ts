export { backfillEvents } from './backfill-events.js';
export { batchMonitors } from './batch-monitors.js';
export { createMonitor } from './create-monitor.js';
export { enrichCsv } from './enrich-csv.js';
export { exportMonitorRuns } from './export-monitor-runs.js';
export { monitorCall } from './monitor-call.js';
export { quietMonitors, quietTurn } from './quiet-monitors.js';
export { syncEvents } from './sync-events.js';
export { workerPresence } from './worker-presence.js';
