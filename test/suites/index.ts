/**
 * For tests of projects: mocks of the operations, and the contract suites of sinks and warehouses. The suite of a sink declares tests of any
 * runner, the others tests of vitest for one database.
 * `docs/why/add-a-warehouse.md` describes how to add a database.
 */
export { mockOperations, type OperationMocks } from './mock-operations.js';
export type { LoadedElsewhere } from './rows-contract.js';
export { sampleAnswers } from './sample-answers.js';
export { type SinkUnderTest, sinkContract } from './sink-contract.js';
export type { MakeWarehouse, QueryResult, WarehouseUnderTest } from './warehouse-under-test.js';

type Suite<F extends (...given: never[]) => void> = (...given: Parameters<F>) => Promise<void>;

// Only a suite loads vitest and the databases.
export const eventContract: Suite<typeof import('./event-contract.js').eventContract> = async (...given) =>
  (await import('./event-contract.js')).eventContract(...given);
export const monitorContract: Suite<typeof import('./monitor-contract.js').monitorContract> = async (...given) =>
  (await import('./monitor-contract.js')).monitorContract(...given);
export const resultContract: Suite<typeof import('./result-contract.js').resultContract> = async (...given) =>
  (await import('./result-contract.js')).resultContract(...given);
export const rowsContract: Suite<typeof import('./rows-contract.js').rowsContract> = async (...given) =>
  (await import('./rows-contract.js')).rowsContract(...given);
export const longRowsContract: Suite<typeof import('./rows-contract.js').longRowsContract> = async (...given) =>
  (await import('./rows-contract.js')).longRowsContract(...given);
