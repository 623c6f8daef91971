export { createDuckDbSink } from './duckdb/duckdb-sink.js';
export { whyNoDatabase } from './duckdb/why-no-database.js';
export { type TargetKind, whyNoTarget } from './export/why-no-target.js';
export { createPostgresSink } from './postgres/postgres-sink.js';
export { DEFAULT_SCHEMA as WAREHOUSE_SCHEMA } from './postgres/warehouse.js';
export {
  createWarehouses,
  type OpenedWarehouse,
  openWarehouse,
  warehouseAddress,
  warehouseIdentity,
} from './warehouses.js';
