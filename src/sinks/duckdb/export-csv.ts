import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { DuckDBConnection } from '@duckdb/node-api';
import { addedColumns, exportQuery } from './export-query.js';
import { freeName } from './job-view.js';
import { literal } from './quote.js';
import { sinkError } from './sink-error.js';
import { unknownJob } from './summarize.js';

/** Rows sorted and written at a time: what bounds the memory of an export. */
const ROWS_AT_ONCE = 25_000;

/**
 * `Sink.exportCsv`. UTF-8, commas, LF. The cells of the input are written as they came; what came from the web is made
 * harmless for spreadsheets, see `exportQuery`.
 */
export async function exportCsv(
  connection: DuckDBConnection,
  job: string,
  file: string,
  warehouse: string,
): Promise<{ readonly rows: number; readonly bytes: number }> {
  const { columns, options, last } = await jobFacts(connection, job, warehouse);
  const added = addedColumns(options);
  const whole = `${file}.part`;
  const piece = `${file}.rows.part`;
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeHeader(whole, columns, added);
    let rows = 0;
    for (let from = 1; from <= last; from += ROWS_AT_ONCE) {
      const query = exportQuery(columns.length, added, { job, from, to: from + ROWS_AT_ONCE - 1 });
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

async function jobFacts(
  connection: DuckDBConnection,
  job: string,
  warehouse: string,
): Promise<{ columns: string[]; options: Record<string, unknown>; last: number }> {
  const reader = await connection.runAndReadAll(
    `SELECT columns, options, (SELECT coalesce(max(row_number), 0) FROM row_store WHERE job = $job)
     FROM searchflow_jobs WHERE job = $job`,
    { job },
  );
  const [columns, options, last] = reader.getRowsJson()[0] ?? [];
  if (columns === undefined) throw unknownJob(job, warehouse);
  return {
    columns: columns as string[],
    options: JSON.parse(String(options)) as Record<string, unknown>,
    last: Number(last),
  };
}

async function writeHeader(file: string, columns: readonly string[], added: readonly string[]): Promise<void> {
  const taken = new Set(columns.map((name) => name.toLowerCase()));
  const names = added.map((name) => freeName(name, taken, (wanted, turn) => `${'result_'.repeat(turn - 1)}${wanted}`));
  const cell = (name: string) => (/[",\r\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name);
  const header = await open(file, 'w', 0o644);
  try {
    await header.writeFile(`${[...columns, ...names].map(cell).join(',')}\n`);
  } finally {
    await header.close();
  }
}

async function moveDurably(from: string, to: string): Promise<number> {
  const file = await open(from, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(from, to);
  return (await stat(to)).size;
}
