import { dirname, isAbsolute, resolve } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { WarehouseUnusable } from '../../core/rows/row-warehouse.js';
import { isWithin } from '../../files/is-within.js';
import { realPath } from '../../files/same-file.js';
import { columnsOf, selectAs } from '../export/file-parts.js';
import { identifier, literal } from '../shared/duckdb-quote.js';
import type { SqlTarget, TargetTable } from './publish-sql.js';
import { draftsOf, type StagedTable } from './stage-tables.js';

/** Name of the target in the connection. */
const CATALOG = 'searchflow_target';

/** Attaches a DuckDB file, or the DuckLake whose catalog the file is, and refuses a warehouse and a lake with data elsewhere. */
export async function attachTarget(connection: DuckDBConnection, file: string, isLake: boolean): Promise<SqlTarget> {
  // Inlined rows would be in the catalog only, where other readers of the files do not find them.
  const [address, options] = isLake ? [`ducklake:${file}`, ' (DATA_INLINING_ROW_LIMIT 0)'] : [file, ''];
  await connection.run(`ATTACH ${literal(address)} AS ${CATALOG}${options}`);
  if (isLake) await checkLake(connection, file);
  const query: SqlTarget['query'] = async (sql, values = []) =>
    (await connection.runAndReadAll(sql, [...values])).getRowObjectsJson();
  const within = (name: string) => `${CATALOG}.main.${identifier(name)}`;
  const exists = async (name: string) => {
    const found = await query(
      `SELECT 1 FROM information_schema.tables WHERE table_catalog = '${CATALOG}' AND lower(table_name) = lower($1)`,
      [name],
    );
    return found.length > 0;
  };
  if (await exists('searchflow_migrations'))
    throw new WarehouseUnusable('publish-target-invalid', `${file} is a warehouse of searchflow: name another file`);
  return {
    shown: file,
    query,
    within,
    columnsOf: async (name) => ((await exists(name)) ? columnsOf(connection, `SELECT * FROM ${within(name)}`) : null),
    async add({ staged, columns }, to) {
      const rows = selectAs(`SELECT * FROM ${draftsOf(staged)}`, staged.columns, columns);
      await connection.run(`INSERT INTO ${to} BY NAME ${rows}`);
    },
  };
}

/** A table as a DuckDB file has it, with the types of the source, or a DuckLake, with the types of files. */
export const attachedTable = (staged: StagedTable, isLake: boolean): TargetTable => ({
  staged,
  name: staged.name,
  columns: isLake ? staged.columns : staged.exact,
});

/**
 * Refuses a DuckLake whose catalog places data outside of the catalog's folder: the target names the folder that may be written, and not
 * the catalog.
 */
async function checkLake(connection: DuckDBConnection, file: string): Promise<void> {
  const first = async (sql: string) => (await connection.runAndReadAll(sql)).getRows()[0]?.[0];
  const metadata = (table: string) => `__ducklake_metadata_${CATALOG}.ducklake_${table}`;
  const data = String(
    await first(`SELECT value FROM ${metadata('metadata')} WHERE key = 'data_path' AND scope IS NULL`),
  );
  const paths = ['schema', 'table', 'data_file', 'delete_file']
    .map((table) => `SELECT path, path_is_relative FROM ${metadata(table)}`)
    .join(' UNION ALL ');
  const foreign = await first(
    `SELECT path FROM (${paths}) WHERE NOT path_is_relative OR contains(concat('/', replace(path, '\\', '/'), '/'), '/../') LIMIT 1`,
  );
  const folder = dirname(file);
  const outside = foreign ?? (isAbsolute(data) && isWithin(realPath(folder), realPath(resolve(data))) ? null : data);
  if (outside !== null)
    throw new WarehouseUnusable(
      'publish-target-taken',
      `The DuckLake ${file} has data outside of ${folder} (${String(outside).slice(0, 200)}): name a DuckLake whose data is beside its catalog`,
    );
}
