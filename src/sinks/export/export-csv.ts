import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { DuckDBConnection } from '@duckdb/node-api';
import { literal } from '../duckdb/quote.js';
import { sinkError } from '../duckdb/sink-error.js';
import { viewColumns } from '../view-columns.js';
import { csvQuery } from './csv-query.js';
import { type JobRows, makeRoom, ROWS_AT_ONCE } from './job-rows.js';
import { moveDurably } from './move-durably.js';

/**
 * `Sink.exportCsv`. UTF-8, commas, LF. The cells of the input are written as they came; what came from the web is made
 * harmless for spreadsheets, see `csvQuery`.
 */
export async function exportCsv(
  connection: DuckDBConnection,
  job: JobRows,
  file: string,
): Promise<{ readonly rows: number; readonly bytes: number }> {
  const added = job.results.filter(({ csv }) => csv);
  const whole = `${file}.part`;
  const piece = `${file}.rows.part`;
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeHeader(whole, job);
    await makeRoom(connection, job.columns.length);
    let rows = 0;
    for (let from = 1; from <= job.last; from += ROWS_AT_ONCE) {
      const query = csvQuery(job.columns.length, added, await job.part(from, from + ROWS_AT_ONCE - 1));
      const copied = await connection.runAndReadAll(
        `COPY (${query}) TO ${literal(piece)} (FORMAT csv, HEADER false, TIMESTAMPFORMAT '%Y-%m-%dT%H:%M:%S.%gZ')`,
      );
      rows += Number(copied.getRowsJson()[0]?.[0]);
      await pipeline(createReadStream(piece, { highWaterMark: 1 << 20 }), createWriteStream(whole, { flags: 'a' }));
    }
    return { rows, bytes: await moveDurably(whole, file) };
  } catch (error) {
    // A full disk or a missing permission is here the CSV's, not the warehouse's.
    throw sinkError(error, file);
  } finally {
    await Promise.allSettled([rm(whole, { force: true }), rm(piece, { force: true })]);
  }
}

async function writeHeader(file: string, { columns, results }: JobRows): Promise<void> {
  // Named as in the view, where a column that is not exported has a name, too.
  const named = viewColumns(
    columns,
    results.map(({ name }) => name),
  ).results;
  const names = named.filter((_, index) => results[index]?.csv);
  const cell = (name: string) => (/[",\r\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name);
  const header = await open(file, 'w', 0o644);
  try {
    await header.writeFile(`${[...columns, ...names].map(cell).join(',')}\n`);
  } finally {
    await header.close();
  }
}
