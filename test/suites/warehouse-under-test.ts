import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EventWarehouse } from '#searchflow/core/events/event-warehouse.js';
import type { MonitorWarehouse } from '#searchflow/core/monitors/monitor-warehouse.js';
import type { RowWarehouse } from '#searchflow/core/rows/row-warehouse.js';

/** The result of a query: the names of its columns, and its rows with a value for each column. */
export interface QueryResult {
  readonly names: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

/** An empty warehouse of the database under test. `openWarehouse` returns the three stores and `close`. */
export interface WarehouseUnderTest {
  readonly rows: RowWarehouse;
  readonly events: EventWarehouse;
  readonly monitors: MonitorWarehouse;
  /** Closes the warehouse after the waiting work. A later use opens the warehouse again. */
  close(): Promise<void>;
  /**
   * Runs an SQL statement on the tables of the warehouse with the database's own driver. Numbers of every type are numbers, times are
   * `Date`, and columns of a JSON type are values.
   */
  query(sql: string): Promise<QueryResult>;
  /** The text that the database stores for NUL in a text from the web: `'\0'`, or `'\\u0000'` if its texts cannot hold NUL. */
  readonly nul: string;
}

/** Makes an empty warehouse for one test. The folder is empty, and is removed after the test. */
export type MakeWarehouse<Made extends WarehouseUnderTest = WarehouseUnderTest> = (dir: string) => Made | Promise<Made>;

/** A warehouse in a folder of its own, with both forms of a query. */
export type InFolder<Made extends WarehouseUnderTest = WarehouseUnderTest> = Made & {
  readonly dir: string;
  /** Rows of a query, as lists of values. */
  values(sql: string): Promise<unknown[][]>;
  /** Rows of a query, as objects with a field for each column. */
  objects(sql: string): Promise<Record<string, unknown>[]>;
  /** Closes the warehouse and removes the folder. */
  remove(): Promise<void>;
};

/** Makes a warehouse in a new folder. */
export async function makeInFolder<Made extends WarehouseUnderTest>(
  make: MakeWarehouse<Made>,
): Promise<InFolder<Made>> {
  const dir = mkdtempSync(join(tmpdir(), 'searchflow-warehouse-'));
  const made = await make(dir);
  return {
    ...made,
    dir,
    values: async (sql) => (await made.query(sql)).rows.map((row) => [...row]),
    async objects(sql) {
      const { names, rows } = await made.query(sql);
      return rows.map((row) => Object.fromEntries(names.map((name, index) => [name, row[index]])));
    },
    async remove() {
      await made.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
