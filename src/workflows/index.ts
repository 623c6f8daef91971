export { batchMonitors } from './batch-monitors.js';
export { enrichCsv } from './enrich-csv.js';
export { workerPresence } from './worker-presence.js';
