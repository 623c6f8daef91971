/**
 * The contract suites of warehouses. Each suite declares tests of vitest for one database. `docs/tasks/add-a-warehouse.md` describes how to
 * add a database.
 */
export { eventContract } from './event-contract.js';
export { monitorContract } from './monitor-contract.js';
export { resultContract } from './result-contract.js';
export { type LoadedElsewhere, longRowsContract, rowsContract } from './rows-contract.js';
export type { MakeWarehouse, QueryResult, WarehouseUnderTest } from './warehouse-under-test.js';
