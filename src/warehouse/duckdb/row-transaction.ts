import type { DuckDBConnection } from '@duckdb/node-api';
import type { RowTransaction } from '../rows/row-sql.js';
import { duckDbRowDialect } from './dialect/row-dialect.js';
import { withMendedFiles } from './driver/mended-files.js';
import { withPartFiles } from './driver/part-files.js';
import { largest, MAX_OBJECT, stagedRows, unitRecords, unpackedSize } from './driver/read-files.js';
import { sqlTransaction } from './driver/sql-transaction.js';

/** A transaction for rows over a connection. `longest`: the longest line of a unit file that can be read, in bytes. */
export function rowTransaction(connection: DuckDBConnection, longest = MAX_OBJECT): RowTransaction {
  return {
    ...sqlTransaction(connection),
    dialect: duckDbRowDialect,
    // Transactions that write rows run one at a time, see `Warehouse.use`.
    lock: async () => undefined,
    async readRows(files, cells, work) {
      const [file] = files;
      if (file === undefined) return;
      const size = files.length === 1 ? await unpackedSize(file) : MAX_OBJECT;
      await work(stagedRows(files, cells, Math.min(MAX_OBJECT, size)));
    },
    async readUnits(files, careful, work) {
      if (files.length === 0) return false;
      const read = async (from: readonly string[]) => work(unitRecords(from, Math.min(longest, await largest(from))));
      return (careful ? withMendedFiles : withPartFiles)(files, read);
    },
  };
}
