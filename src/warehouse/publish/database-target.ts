import { dirname, isAbsolute, resolve } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { PublishRecord, PublishRequest } from '../../core/publish/publish-request.js';
import { WarehouseUnusable } from '../../core/rows/row-warehouse.js';
import { isWithin } from '../../files/is-within.js';
import { realPath } from '../../files/same-file.js';
import { identifier, literal } from '../shared/duckdb-quote.js';
import { checkUnique, parquetFiles, rowsDiffer, sameKey } from './merge-rows.js';
import {
  isAppended,
  isRecreated,
  type LatestPublish,
  PUBLISHES,
  publishesColumns,
  publishValues,
  type TargetTable,
} from './plan-rows.js';
import { contentOf } from './plan-table.js';
import { columnsOf, type Staged, type StagedTable } from './stage-tables.js';

/** Name of the target in the connection. */
const CATALOG = 'searchflow_target';
const inTarget = (name: string) => `${CATALOG}.main.${identifier(name)}`;

/** A publish into a database that DuckDB attaches. */
export interface DatabasePublish {
  /** A DuckDB with the target attached by {@link attachTarget}. */
  readonly connection: DuckDBConnection;
  /** The target, for messages. */
  readonly shown: string;
  readonly staged: Staged;
  readonly request: PublishRequest;
  readonly record: PublishRecord;
}

export interface TableRows {
  readonly name: string;
  readonly rows: number;
}

/** Attaches a target. `options`: as in ATTACH, without parentheses. */
export async function attachTarget(connection: DuckDBConnection, address: string, options = ''): Promise<void> {
  await connection.run(`ATTACH ${literal(address)} AS ${CATALOG}${options === '' ? '' : ` (${options})`}`);
}

/**
 * Refuses a DuckLake whose catalog places data outside of the catalog's folder: the target names the folder that may be written, and not
 * the catalog.
 */
export async function checkLake(connection: DuckDBConnection, file: string): Promise<void> {
  const metadata = (table: string) => `__ducklake_metadata_${CATALOG}.ducklake_${table}`;
  const data = String(
    await first(connection, `SELECT value FROM ${metadata('metadata')} WHERE key = 'data_path' AND scope IS NULL`),
  );
  const paths = ['schema', 'table', 'data_file', 'delete_file']
    .map((table) => `SELECT path, path_is_relative FROM ${metadata(table)}`)
    .join(' UNION ALL ');
  const foreign = await first(
    connection,
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

/** Changes all tables in one transaction. Returns the rows of each table then, or null if nothing had to be written. */
export async function publishToDatabase(publish: DatabasePublish): Promise<readonly TableRows[] | null> {
  const { connection, shown, staged, request, record } = publish;
  const { source, tables } = staged;
  if (request.mode === 'merge') for (const table of tables) await checkUnique(connection, table, request.key);
  const found = await Promise.all(tables.map(({ name }) => targetTable(connection, name)));
  const plans = tables.map((table, index) => {
    const target = found[index] as TargetTable;
    return { table, target, isNew: isRecreated(target, table, request, { shown, source }) };
  });
  if (
    request.mode === 'append' &&
    plans.every(({ table, target }) => isAppended(target.latest, table, source, record.run))
  )
    return null;
  const changed: TableRows[] = [];
  await connection.run('BEGIN');
  try {
    await connection.run(`CREATE TABLE IF NOT EXISTS ${inTarget(PUBLISHES)} (${publishesColumns})`);
    for (const { table, isNew } of plans) {
      for (const sql of statements(table, isNew, request)) await connection.run(sql);
      const total = Number(await first(connection, `SELECT count(*) FROM ${inTarget(table.name)}`));
      const facts = { source, total, content: contentOf(table), rows: table.rows };
      const values = publishValues(table.name, facts, record, request.key).map(literal);
      await connection.run(`INSERT INTO ${inTarget(PUBLISHES)} VALUES (${values.join(', ')})`);
      changed.push({ name: table.name, rows: total });
    }
    await connection.run('COMMIT');
  } catch (error) {
    // A failed statement may have ended the transaction already.
    await connection.run('ROLLBACK').catch(() => undefined);
    throw error;
  }
  return changed;
}

/**
 * Statements that change a table. A merge leaves equal rows as they are, so that the changes of a table, where the target records them, are
 * those of the rows.
 */
function statements({ name, columns, files }: StagedTable, isNew: boolean, { mode, key }: PublishRequest): string[] {
  const rows = parquetFiles(files.map(({ path }) => path));
  const table = inTarget(name);
  if (isNew) return [`DROP TABLE IF EXISTS ${table}`, `CREATE TABLE ${table} AS SELECT * FROM ${rows}`];
  const insert = `INSERT INTO ${table} BY NAME SELECT * FROM ${rows}`;
  if (mode === 'append') return [insert];
  if (mode === 'replace') return [`DELETE FROM ${table}`, insert];
  return [
    `DELETE FROM ${table} AS old USING ${rows} AS new WHERE ${sameKey(key)} AND (${rowsDiffer(columns)})`,
    `INSERT INTO ${table} BY NAME SELECT new.* FROM ${rows} new ANTI JOIN ${table} old ON ${sameKey(key)}`,
  ];
}

async function targetTable(connection: DuckDBConnection, name: string): Promise<TargetTable> {
  const [hasPublishes, hasTable] = await Promise.all([exists(connection, PUBLISHES), exists(connection, name)]);
  const latest = hasPublishes
    ? await connection.runAndReadAll(
        `SELECT publish, source, run, mode, content FROM ${inTarget(PUBLISHES)} WHERE table_name = ${literal(name)}
         ORDER BY publish DESC LIMIT 1`,
      )
    : null;
  return {
    latest: (latest?.getRowObjectsJson()[0] as LatestPublish | undefined) ?? null,
    columns: hasTable ? await columnsOf(connection, `SELECT * FROM ${inTarget(name)}`) : null,
  };
}

async function exists(connection: DuckDBConnection, name: string): Promise<boolean> {
  const found = await first(
    connection,
    `SELECT count(*) FROM information_schema.tables WHERE table_catalog = '${CATALOG}' AND lower(table_name) = lower(${literal(name)})`,
  );
  return Number(found) > 0;
}

async function first(connection: DuckDBConnection, sql: string): Promise<unknown> {
  return (await connection.runAndReadAll(sql)).getRows()[0]?.[0];
}

/** Whether the target is a warehouse of searchflow. */
export const isWarehouse = (connection: DuckDBConnection): Promise<boolean> =>
  exists(connection, 'searchflow_migrations');
