export { whyNoDatabase } from './duckdb/driver/why-not-a-warehouse.js';
export { createDuckDbSink } from './duckdb/rows/duckdb-sink.js';
export { type TargetKind, whyNoTarget } from './export/why-no-target.js';
export { DEFAULT_SCHEMA as WAREHOUSE_SCHEMA } from './postgres/open/warehouse.js';
export { createPostgresSink } from './postgres/rows/postgres-sink.js';
export {
  createWarehouses,
  type OpenedWarehouse,
  openWarehouse,
  warehouseAddress,
  warehouseIdentity,
} from './warehouses.js';
