export { closedWarehouseFile, createDuckDbRows } from './duckdb/duckdb-rows.js';
export { warehouseFileVersion } from './duckdb/file-version.js';
export { columnsOf, type TableColumn } from './export/file-parts.js';
export { firstFolder, nearestThere, type TargetKind, whyNoTarget } from './export/why-no-target.js';
export { createPostgresRows, POSTGRES_FORM } from './postgres/database.js';
export { DEFAULT_SCHEMA as WAREHOUSE_SCHEMA } from './postgres/warehouse.js';
export { type Place, placeOf } from './publish/place-of.js';
export { s3Name, s3Place, setS3 } from './publish/s3-files.js';
export { duckDbCell } from './rows/duckdb-result-sql.js';
export { schemaOf, viewColumnNames } from './rows/job-columns.js';
export type { OpenedWarehouse } from './shared/database.js';
export { identifier, literal, plainPath, utcText } from './shared/duckdb-quote.js';
export { loadDuckDb } from './shared/load-duckdb.js';
export { hasExtension, loadExtension } from './shared/load-extension.js';
export { openScratchDuckDb, setMemory } from './shared/scratch-duckdb.js';
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
