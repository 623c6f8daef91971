export { enrichCsv } from './enrich-csv.js';
