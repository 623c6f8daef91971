export {
  hasDatabaseForm,
  POSTGRES_FORM,
  WAREHOUSE_FORMS,
  warehouseAddress,
  warehouseFile,
  warehouseIdentity,
  whyNoWarehouseFile,
} from './addresses.js';
export { closedWarehouseFile } from './duckdb/database.js';
export { columnsOf, type TableColumn } from './export/file-parts.js';
export { firstFolder, nearestThere, whyNoTarget } from './export/why-no-target.js';
export { type Place, placeOf, s3Place } from './publish/place-of.js';
export { setS3 } from './publish/s3-files.js';
export { duckDbCell } from './rows/duckdb-result-sql.js';
export { schemaOf, viewColumnNames } from './rows/job-columns.js';
export { identifier, literal, plainPath, utcText } from './shared/duckdb-quote.js';
export { hasExtension, loadDuckDb, loadExtension } from './shared/load-duckdb.js';
export { openScratchDuckDb, setMemory } from './shared/scratch-duckdb.js';
export type { SinkBatches } from './sink-batches.js';
export { createWarehouses, type OpenedWarehouse, openWarehouse } from './warehouses.js';
