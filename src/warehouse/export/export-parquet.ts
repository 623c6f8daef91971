import { lstatSync } from 'node:fs';
import { mkdir, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import { moveDurably, swapFolders } from '../../files/write-durably.js';
import { literal } from '../shared/duckdb-quote.js';
import { fileParts, type JobRows, jobTable } from './file-parts.js';

/** Number of rows in a row group. The group is small, because a group is held in memory until it is written, and a page may be large. */
const ROW_GROUP = 2048;

/**
 * See `RowExports.exportParquet`. Writes files `part-00000.parquet` and so on, one for each part of the rows, in the order
 * of the rows. The directory is created, or replaced as a whole. If the directory has other files, the export is refused before anything
 * is written.
 */
export async function exportParquet(
  connection: DuckDBConnection,
  job: JobRows,
  folder: string,
  dir: string,
  shown: string,
): Promise<{ readonly rows: number; readonly files: number; readonly bytes: number }> {
  await refuseOthers(dir, shown);
  const draft = join(folder, 'parquet');
  const { mode = 0o777 } = lstatSync(dir, { throwIfNoEntry: false }) ?? {};
  await mkdir(draft, { mode: mode & 0o777 });
  let [rows, files, bytes] = [0, 0, 0];
  // A job without rows is exported as one empty file, because readers need the columns of the job.
  for await (const { query } of fileParts(connection, jobTable('', job), false)) {
    const file = join(draft, `part-${String(files).padStart(5, '0')}.parquet`);
    rows += await copyToParquet(connection, query, file);
    bytes += await syncedSize(file);
    files++;
  }
  await replaceDirectory(draft, dir, shown);
  return { rows, files, bytes };
}

/** Writes the rows of a query into a Parquet file. Returns the number of rows. */
export async function copyToParquet(connection: DuckDBConnection, query: string, file: string): Promise<number> {
  const copied = await connection.runAndReadAll(
    `COPY (${query}) TO ${literal(file)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${ROW_GROUP})`,
  );
  return Number(copied.getRowsJson()[0]?.[0]);
}

async function replaceDirectory(draft: string, dir: string, shown: string): Promise<void> {
  if (lstatSync(dir, { throwIfNoEntry: false }) === undefined) return moveDurably(draft, dir);
  await swapFolders(draft, dir);
  // A file that was added meanwhile is not removed.
  await refuseOthers(draft, shown).catch(async (error: unknown) => {
    await swapFolders(draft, dir);
    throw error;
  });
}

async function refuseOthers(dir: string, shown: string): Promise<void> {
  if (lstatSync(dir, { throwIfNoEntry: false }) === undefined) return;
  const entries = await readdir(dir, { withFileTypes: true });
  const other = entries.find((entry) => !entry.isFile() || !/^part-\d{5,}\.parquet$/.test(entry.name));
  if (other)
    throw new WarehouseUnusable(
      'output-path-unusable',
      `${shown} has files that are not of an export (${other.name}): name another directory`,
    );
}

async function syncedSize(file: string): Promise<number> {
  const handle = await open(file, 'r+');
  try {
    await handle.sync();
    return (await handle.stat()).size;
  } finally {
    await handle.close();
  }
}
