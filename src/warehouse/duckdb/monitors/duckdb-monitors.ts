import { resolve } from 'node:path';
import type { DuckDBConnection, DuckDBValue } from '@duckdb/node-api';
import type { MonitorWarehouse } from '../../../core/monitors/monitor-warehouse.js';
import type { MonitorTransaction, SqlValue } from '../../monitors/monitor-sql.js';
import { createMonitorStore } from '../../monitors/monitor-store.js';
import { duckDbMonitors } from '../dialect/monitor-dialect.js';
import { Warehouse } from '../open/warehouse.js';

/** Returns the monitors of a DuckDB file. The same file may hold the rows of jobs. Call this function once for each file and process. */
export function createDuckDbMonitors(options: { readonly file: string }): MonitorWarehouse {
  const warehouse = Warehouse.at(resolve(options.file));
  return createMonitorStore(
    duckDbMonitors,
    (work) => warehouse.transaction((connection) => work(transactionOn(connection))),
    () => warehouse.close(),
  );
}

function transactionOn(connection: DuckDBConnection): MonitorTransaction {
  const bind = (values: readonly SqlValue[] = []): DuckDBValue[] =>
    values.map((value) => (typeof value === 'number' ? BigInt(Math.round(value)) : value));
  return {
    async run(sql, values) {
      await connection.run(sql, bind(values));
    },
    async rows<Row extends object>(sql: string, values?: readonly SqlValue[]) {
      const reader = await connection.runAndReadAll(sql, bind(values));
      // Each statement casts its columns to the types of `Row`.
      return reader.getRowObjectsJS() as Row[];
    },
  };
}
