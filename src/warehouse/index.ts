export { createDuckDbRows } from './duckdb/rows/duckdb-rows.js';
export { type TargetKind, whyNoTarget } from './export/why-no-target.js';
export { POSTGRES_FORM } from './postgres/database.js';
export { DEFAULT_SCHEMA as WAREHOUSE_SCHEMA } from './postgres/open/warehouse.js';
export { createPostgresRows } from './postgres/rows/postgres-rows.js';
export type { OpenedWarehouse } from './shared/database.js';
export { loadDuckDb } from './shared/load-duckdb.js';
export {
  createWarehouses,
  hasDatabaseForm,
  openWarehouse,
  WAREHOUSE_FORMS,
  warehouseAddress,
  warehouseFile,
  warehouseIdentity,
  whyNoWarehouseFile,
} from './warehouses.js';
