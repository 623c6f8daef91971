import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { SinkUnusable } from '../../core/sink.js';
import { literal } from '../duckdb/quote.js';
import { sinkError } from '../duckdb/sink-error.js';
import { type JobRows, makeRoom, ROWS_AT_ONCE } from './job-rows.js';
import { moveDurably } from './move-durably.js';
import { parquetQuery } from './parquet-query.js';

/** Small, because a group of rows is held in memory until it is written, and a page may be large. */
const ROW_GROUP = 2048;

/**
 * `Sink.exportParquet`: `part-00000.parquet` and so on, {@link ROWS_AT_ONCE} rows each in their order, in a directory that
 * appears, or is replaced, as a whole. One that holds anything else is refused before anything is written.
 */
export async function exportParquet(
  connection: DuckDBConnection,
  job: JobRows,
  dir: string,
): Promise<{ readonly rows: number; readonly files: number; readonly bytes: number }> {
  const draft = `${dir}.part`;
  const old = `${dir}.old`;
  try {
    // Killed between the two renames below: what was there before is there again.
    if (existsSync(old) && !existsSync(dir)) await rename(old, dir);
    await refuseOthers(dir);
    await Promise.all([draft, old].map((path) => rm(path, { recursive: true, force: true })));
    await mkdir(draft, { recursive: true });
    await makeRoom(connection, job.columns.length);
    let [rows, files, bytes] = [0, 0, 0];
    // An empty job is one empty file: its columns are to be seen.
    for (let from = 1; from === 1 || from <= job.last; from += ROWS_AT_ONCE) {
      const query = parquetQuery(job.columns, job.results, await job.part(from, from + ROWS_AT_ONCE - 1));
      const file = join(draft, `part-${String(files).padStart(5, '0')}.parquet`);
      const copied = await connection.runAndReadAll(
        `COPY (${query}) TO ${literal(`${file}.part`)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${ROW_GROUP})`,
      );
      bytes += await moveDurably(`${file}.part`, file);
      rows += Number(copied.getRowsJson()[0]?.[0]);
      files++;
    }
    if (existsSync(dir)) await rename(dir, old);
    await rename(draft, dir);
    return { rows, files, bytes };
  } catch (error) {
    throw sinkError(error, dir);
  } finally {
    await Promise.allSettled([draft, old].map((path) => rm(path, { recursive: true, force: true })));
  }
}

async function refuseOthers(dir: string): Promise<void> {
  if (!existsSync(dir)) return;
  const others = (await readdir(dir)).filter((name) => !/^part-\d{5,}\.parquet$/.test(name));
  if (others.length === 0) return;
  throw new SinkUnusable(`${dir} holds something else than an export (${others[0]}): name a directory of its own`);
}
