export { createDuckDbSink } from './duckdb/duckdb-sink.js';
export { createEventWarehouses } from './events/event-warehouses.js';
export { createMonitorWarehouses } from './monitors/monitor-warehouses.js';
export { createPostgresSink } from './postgres/postgres-sink.js';
export { DEFAULT_SCHEMA as WAREHOUSE_SCHEMA, publicAddress } from './postgres/warehouse.js';
export { createSinks, type Sinks, type SinksOptions, warehouseAddress } from './sinks.js';
