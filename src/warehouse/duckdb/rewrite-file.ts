import { rmSync } from 'node:fs';
import { chmod, rm, stat } from 'node:fs/promises';
import { WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import { draftOf, moveDurably, removeDrafts } from '../../files/write-durably.js';
import { identifier, literal } from '../shared/duckdb-quote.js';
import { loadDuckDb } from '../shared/load-duckdb.js';

/** Memory of the copy, in MB. */
const MEMORY_MB = 512;

interface Options {
  readonly rowGroupRows: number;
  /** Oldest version of DuckDB that can read the file. */
  readonly version: string;
  /** A statement for the draft, in the same step as the replacement. */
  readonly finish: string;
}

/**
 * Replaces a DuckDB file by a copy without its free blocks. The old file stays open until it is replaced, so that no other process writes into
 * it meanwhile. A killed process leaves the old file and a draft, which the next call removes.
 */
export async function rewriteFile(file: string, { rowGroupRows, version, finish }: Options): Promise<void> {
  const { DuckDBInstance } = await loadDuckDb();
  const instance = await DuckDBInstance.create(':memory:', {
    memory_limit: `${MEMORY_MB}MB`,
    threads: '1',
    temp_directory: `${file}.tmp`,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
  });
  const draft = draftOf(file);
  const drop = () => {
    for (const path of [draft, `${draft}.wal`]) rmSync(path, { force: true });
  };
  try {
    const connection = await instance.connect();
    try {
      await connection.run(`ATTACH ${literal(file)} AS whole`);
      // Without a log nothing is left to do when the old file is closed, after its replacement.
      await connection.run('CHECKPOINT whole');
      // The lock of the file is held, so no other process has a draft.
      await removeDrafts(file);
      await connection.run(
        `ATTACH ${literal(draft)} AS copy (ROW_GROUP_SIZE ${rowGroupRows}, STORAGE_VERSION ${literal(version)})`,
      );
      await connection.run('COPY FROM DATABASE whole TO copy');
      await checkCounts(connection, file);
      await connection.run('USE copy');
      await connection.run(finish);
      await connection.run('USE memory');
      await connection.run('CHECKPOINT copy');
      await connection.run('DETACH copy');
      await chmod(draft, (await stat(file)).mode);
      await moveDurably(draft, file);
      await rm(`${file}.tmp`, { recursive: true, force: true });
    } finally {
      connection.closeSync();
    }
  } catch (error) {
    drop();
    throw error;
  } finally {
    instance.closeSync();
  }
  await rm(`${draft}.wal`, { force: true });
}

type Connection = Awaited<
  ReturnType<InstanceType<Awaited<ReturnType<typeof loadDuckDb>>['DuckDBInstance']>['connect']>
>;

/** Compares the numbers of rows of all tables. */
async function checkCounts(connection: Connection, file: string): Promise<void> {
  const tables = await connection.runAndReadAll(
    `SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'whole' AND NOT temporary`,
  );
  for (const [schema, table] of tables.getRows()) {
    const name = `${identifier(String(schema))}.${identifier(String(table))}`;
    const counted = await connection.runAndReadAll(
      `SELECT (SELECT count(*) FROM whole.${name}) = (SELECT count(*) FROM copy.${name})`,
    );
    if (counted.getRows()[0]?.[0] !== true)
      throw new WarehouseUnusable(
        'warehouse-damaged',
        `The copy of ${file} lacks rows of ${table}, so the file was not replaced`,
      );
  }
}
