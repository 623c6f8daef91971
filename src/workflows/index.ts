export { enrichCsv } from './enrich-csv.js';
export { workerPresence } from './worker-presence.js';
