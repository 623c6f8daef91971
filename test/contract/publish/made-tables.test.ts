import { join } from 'node:path';
import { expect, it } from 'vitest';
import { folderOfFile } from '../../support/files/folders.js';
import { sharedPostgres } from '../../support/postgres.js';
import { checkTables, nodeReader } from '../../support/publish/made-tables.js';
import { placeEmptyWarehouse } from '../../support/warehouse/empty-warehouse.js';

const dir = folderOfFile();

// deep/publish runs two thousand tables, which Python reads.
it.each(['DuckDB', 'PostgreSQL'])(
  'tables with any names, types and values are the same in each target, from %s',
  async (kind) => {
    const postgres = await sharedPostgres().database();
    const warehouse =
      kind === 'DuckDB' ? placeEmptyWarehouse(join(dir, 'warehouse.duckdb')) : await sharedPostgres().database();
    const first = kind === 'DuckDB' ? 1 : 101;
    const seeds = Array.from({ length: 8 }, (_, index) => first + index);
    expect(
      await checkTables(join(dir, kind), seeds, {
        warehouse,
        postgres: `${postgres}?schema=public`,
        reader: nodeReader,
      }),
    ).toEqual([]);
  },
);
