export { deliverAlert } from './alerts.js';
export { batchMonitors, createMonitor, exportMonitorRuns, monitorCall } from './monitors.js';
export { backfillEvents, syncEvents } from './page-walk.js';
export { enrichCsv, enrichRows, runAgentRows } from './rows/row-workflows.js';
export { runAgent, runResearch, syncAgentRuns } from './runs.js';
export { scheduledJob } from './scheduled-job.js';
