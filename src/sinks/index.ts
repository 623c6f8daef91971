export { createDuckDbSink } from './duckdb/duckdb-sink.js';
export { createDuckDbSinks, type Sinks } from './duckdb/duckdb-sinks.js';
