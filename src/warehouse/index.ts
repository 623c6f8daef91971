export { whyNoDatabase } from './duckdb/driver/why-not-a-warehouse.js';
export { createDuckDbRows } from './duckdb/rows/duckdb-rows.js';
export { type TargetKind, whyNoTarget } from './export/why-no-target.js';
export { DEFAULT_SCHEMA as WAREHOUSE_SCHEMA } from './postgres/open/warehouse.js';
export { createPostgresRows } from './postgres/rows/postgres-rows.js';
export {
  createWarehouses,
  type OpenedWarehouse,
  openWarehouse,
  warehouseAddress,
  warehouseIdentity,
} from './warehouses.js';
