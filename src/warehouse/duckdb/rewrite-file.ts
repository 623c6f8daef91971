import { chmod, rm, stat } from 'node:fs/promises';
import type { DuckDBConnection } from '@duckdb/node-api';
import { WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import { draftOf, moveDurably, removeDrafts } from '../../files/write-durably.js';
import { identifier, literal } from '../shared/duckdb-quote.js';
import { setMemory, withScratchDuckDb } from '../shared/scratch-duckdb.js';

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
  const draft = draftOf(file);
  try {
    await withScratchDuckDb(`${file}.tmp`, async (connection) => {
      await setMemory(connection, MEMORY_MB);
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
    });
  } finally {
    for (const path of [draft, `${draft}.wal`]) await rm(path, { force: true });
  }
}

/** Compares the numbers of rows of all tables. */
async function checkCounts(connection: DuckDBConnection, file: string): Promise<void> {
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
