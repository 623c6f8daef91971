import { existsSync, lstatSync } from 'node:fs';
import { copyFile, mkdir, readdir } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import { isWithin } from '../../files/is-within.js';
import { secondName } from '../../files/open-path.js';
import { realPath } from '../../files/same-file.js';
import { moveDurably } from '../../files/write-durably.js';
import { columnsOf, selectAs } from '../export/file-parts.js';
import { identifier, literal } from '../shared/duckdb-quote.js';
import { inTransaction } from '../shared/in-transaction.js';
import { folderFiles } from './folder-files.js';
import { publishToSql, type SqlTarget, type TableRows, type TargetTable } from './publish-sql.js';
import { type Drafted, draftsOf, type StagedTable } from './stage-tables.js';

/** Names of the target, and of the catalog of a DuckLake, in the connection. */
const CATALOG = 'searchflow_target';
const METADATA = `__ducklake_metadata_${CATALOG}`;

const NO_LOG = "RECOVERY_MODE 'no_wal_writes'";
// Inlined rows would be in the catalog only, where other readers of the files do not find them.
const LAKE = `META_${NO_LOG}, DATA_INLINING_ROW_LIMIT 0`;

/** A DuckDB file, or the catalog of a DuckLake, as a target. */
export interface AttachedFile {
  readonly file: string;
  /** See `withDraftFolder`. */
  readonly held: string;
  readonly isLake: boolean;
}

/**
 * Publishes in a transaction of a DuckDB file, or of the DuckLake whose catalog the file is. Refuses a warehouse and a lake with data
 * elsewhere. DuckDB opens files by their names, so it gets names in the folder of drafts, where no other user can exchange a file. Without a
 * log, the file changes in one step at the checkpoint; a new file gets its name after that.
 */
export async function publishToFile(
  { file, held, isLake }: AttachedFile,
  drafted: Drafted,
): Promise<readonly TableRows[] | null> {
  const { connection, drafts } = drafted;
  const [place, alias] = [join(held, basename(file)), join(drafts, 'target.duckdb')];
  const present = await secondName(place, alias);
  // The log of a killed program.
  if (present === alias) await secondName(`${place}.wal`, `${alias}.wal`);
  const name = present ?? alias;
  const attach = (options: string) =>
    connection.run(`ATTACH ${literal(isLake ? `ducklake:${name}` : name)} AS ${CATALOG} (${options})`);
  const lake = isLake ? await lakeFiles(drafted, file, attach, present === null) : null;
  await attach(lake?.options ?? NO_LOG);
  const result = await inTransaction(connection, async () => {
    const tables = drafted.tables.map((table) => attachedTable(table, isLake));
    const done = await publishToSql(await sqlTarget(connection, file), tables, drafted);
    await lake?.keep();
    return done;
  });
  await connection.run(`CHECKPOINT ${isLake ? METADATA : CATALOG}`);
  await connection.run(`DETACH ${CATALOG}`);
  if (present === null) await moveDurably(alias, place);
  return result;
}

async function sqlTarget(connection: DuckDBConnection, file: string): Promise<SqlTarget> {
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
const attachedTable = (staged: StagedTable, isLake: boolean): TargetTable => ({
  staged,
  name: staged.name,
  columns: isLake ? staged.columns : staged.exact,
});

/**
 * Gives the data files of a DuckLake second names in the folder of drafts, where DuckLake then reads and writes. `options`: of ATTACH.
 * `keep`: moves new files to the others.
 */
async function lakeFiles(
  { connection, drafts }: Drafted,
  file: string,
  attach: (options: string) => Promise<unknown>,
  isNew: boolean,
) {
  await attach(isNew ? `${LAKE}, DATA_PATH ${literal(`${file}.files/`)}` : LAKE);
  const data = await dataFolder(connection, file);
  await connection.run(`DETACH ${CATALOG}`);
  const folder = join(drafts, 'data');
  await mkdir(folder);
  const files = folderFiles(data);
  const present = new Set(await filesBelow(data));
  for (const path of present) {
    const name = join(folder, path);
    await mkdir(dirname(name), { recursive: true });
    const opened = await files.open(path, name);
    if (opened !== name) await copyFile(opened, name);
  }
  return {
    options: `${LAKE}, DATA_PATH ${literal(`${folder}/`)}, OVERRIDE_DATA_PATH true`,
    async keep() {
      for (const path of await filesBelow(folder)) if (!present.has(path)) await files.put(join(folder, path), path);
    },
  };
}

async function filesBelow(folder: string): Promise<readonly string[]> {
  if (!existsSync(folder)) return [];
  const paths = await readdir(folder, { recursive: true });
  return paths.filter((path) => lstatSync(join(folder, path), { throwIfNoEntry: false })?.isFile());
}

/**
 * The folder of the data files of a DuckLake. Refuses a catalog that places data outside of its own folder: the target names the folder that
 * may be written, and not the catalog.
 */
async function dataFolder(connection: DuckDBConnection, file: string): Promise<string> {
  const first = async (sql: string) => (await connection.runAndReadAll(sql)).getRows()[0]?.[0];
  const metadata = (table: string) => `${METADATA}.ducklake_${table}`;
  const path = String(
    await first(`SELECT value FROM ${metadata('metadata')} WHERE key = 'data_path' AND scope IS NULL`),
  );
  const paths = ['schema', 'table', 'data_file', 'delete_file']
    .map((table) => `SELECT path, path_is_relative FROM ${metadata(table)}`)
    .join(' UNION ALL ');
  const foreign = await first(
    `SELECT path FROM (${paths}) WHERE NOT path_is_relative OR contains(concat('/', replace(path, '\\', '/'), '/'), '/../') LIMIT 1`,
  );
  const [folder, data] = [dirname(file), realPath(resolve(path))];
  const outside = foreign ?? (isAbsolute(path) && isWithin(folder, data) ? null : path);
  if (outside === null) return data;
  throw new WarehouseUnusable(
    'publish-target-taken',
    `The DuckLake ${file} has data outside of ${folder} (${String(outside).slice(0, 200)}): name a DuckLake whose data is beside its catalog`,
  );
}
