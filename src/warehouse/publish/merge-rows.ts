import type { DuckDBConnection } from '@duckdb/node-api';
import { WarehouseUnusable } from '../../core/rows/row-warehouse.js';
import { identifier, literal, plainPath } from '../shared/duckdb-quote.js';
import { checkKey } from './plan-table.js';
import type { StagedTable, TableColumn } from './stage-tables.js';

/** Relation of the rows of Parquet files. */
export const parquetFiles = (paths: readonly string[]): string =>
  `read_parquet([${paths.map((path) => literal(plainPath(path))).join(', ')}], hive_partitioning = false)`;

/** Condition: a row of `old` and a row of `new` have the same key. */
export const sameKey = (key: readonly string[]): string =>
  key.map((column) => `old.${identifier(column)} = new.${identifier(column)}`).join(' AND ');

/** Condition: a row of `old` and a row of `new` differ in one of these columns. */
export const rowsDiffer = (columns: readonly TableColumn[]): string =>
  columns.map(({ name }) => `old.${identifier(name)} IS DISTINCT FROM new.${identifier(name)}`).join(' OR ');

/** Throws `WarehouseUnusable` if a column of the key is missing, or the key does not identify the new rows. */
export async function checkUnique(
  connection: DuckDBConnection,
  table: StagedTable,
  key: readonly string[],
): Promise<void> {
  checkKey(table, key);
  const { name, files } = table;
  const columns = key.map(identifier).join(', ');
  const rows = parquetFiles(files.map(({ path }) => path));
  const empty = key.map((column) => `${identifier(column)} IS NULL`).join(' OR ');
  const reader = await connection.runAndReadAll(
    `SELECT (SELECT count(*) FROM ${rows} WHERE ${empty}),
       (SELECT count(*) FROM (SELECT 1 FROM ${rows} GROUP BY ${columns} HAVING count(*) > 1))`,
  );
  const [nulls, repeated] = (reader.getRows()[0] ?? []).map(Number);
  const shown = key.join(', ');
  if (nulls)
    throw new WarehouseUnusable(
      'publish-key-invalid',
      `--key: ${nulls} rows of ${name} have no ${shown}: name columns without NULL`,
    );
  if (repeated)
    throw new WarehouseUnusable(
      'publish-key-invalid',
      `--key: ${repeated} values of ${shown} are in more than one row of ${name}: name columns that identify a row`,
    );
}
