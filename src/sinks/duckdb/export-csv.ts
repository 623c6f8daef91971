import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { DuckDBConnection } from '@duckdb/node-api';
import { freeName } from './job-view.js';
import { literal } from './quote.js';
import { unknownJob } from './summarize.js';

/** Rows sorted and written at a time: what bounds the memory of an export. */
const ROWS_AT_ONCE = 25_000;

/**
 * `Sink.exportCsv`. UTF-8, commas, LF. The cells of the input are written as they came; what came from the web is made
 * harmless for spreadsheets: no control characters but line feed and tab, and an apostrophe before what would be a formula.
 */
export async function exportCsv(
  connection: DuckDBConnection,
  job: string,
  file: string,
  warehouse: string,
): Promise<{ readonly rows: number; readonly bytes: number }> {
  const jobs = await connection.runAndReadAll('SELECT columns FROM searchflow_jobs WHERE job = $job', { job });
  const columns = jobs.getRowsJson()[0]?.[0] as string[] | undefined;
  if (columns === undefined) throw unknownJob(job, warehouse);
  const added = await addedColumns(connection, job);
  const whole = `${file}.part`;
  const piece = `${file}.rows.part`;
  await mkdir(dirname(file), { recursive: true });
  try {
    await writeHeader(whole, columns, Object.keys(added));
    const last = await lastRow(connection, job);
    let rows = 0;
    for (let from = 1; from <= last; from += ROWS_AT_ONCE) {
      const values = [...columns.map((_, index) => `nullif(input[${index + 1}], '')`), ...Object.values(added)];
      const copied = await connection.runAndReadAll(
        `COPY (SELECT ${values.join(', ')} FROM enriched_rows
           WHERE job = ${literal(job)} AND row_number BETWEEN ${from} AND ${from + ROWS_AT_ONCE - 1} AND vanished_at IS NULL
           ORDER BY row_number)
         TO ${literal(piece)} (FORMAT csv, HEADER false, TIMESTAMPFORMAT '%Y-%m-%dT%H:%M:%S.%gZ')`,
      );
      rows += Number(copied.getRowsJson()[0]?.[0]);
      await pipeline(createReadStream(piece), createWriteStream(whole, { flags: 'a' }));
    }
    return { rows, bytes: await moveDurably(whole, file) };
  } finally {
    await rm(whole, { force: true });
    await rm(piece, { force: true });
  }
}

/** Added columns and the SQL of their values. Highlights and summaries only where some row has one. */
async function addedColumns(connection: DuckDBConnection, job: string): Promise<Record<string, string>> {
  const reader = await connection.runAndReadAll(
    `SELECT count(highlights) > 0, count(summary) > 0 FROM enriched_rows WHERE job = $job AND vanished_at IS NULL AND response IS NOT NULL`,
    { job },
  );
  const [highlights, summary] = reader.getRows()[0] ?? [];
  return {
    status: 'status',
    error_tag: harmless('error_tag'),
    error_message: harmless('error_message'),
    http_status: 'http_status',
    title: harmless('title'),
    author: harmless('author'),
    published_date: harmless('published_date'),
    text: harmless('text'),
    ...(highlights === true ? { highlights: harmless('highlights::VARCHAR') } : {}),
    ...(summary === true ? { summary: harmless('summary') } : {}),
    request_id: harmless('request_id'),
    cost_dollars: 'cost_dollars',
    fetched_at: 'fetched_at',
  };
}

const CONTROLS = String.raw`[\x00-\x08\x0b-\x1f\x7f]`;
// Behind any white space, also the kind that is not seen; the full-width signs are formulas, too, to some spreadsheets.
const FORMULA = String.raw`^[\s\p{Z}\p{Cf}]*[=+\-@＝＋－＠]|^\t`;

function harmless(value: string): string {
  const plain = `CASE WHEN regexp_matches(${value}, '${CONTROLS}') THEN regexp_replace(${value}, '${CONTROLS}', '', 'g') ELSE ${value} END`;
  return `(SELECT CASE WHEN regexp_matches(left(v, 200), '${FORMULA}') THEN '''' || v ELSE v END FROM (SELECT ${plain} AS v))`;
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

async function lastRow(connection: DuckDBConnection, job: string): Promise<number> {
  const reader = await connection.runAndReadAll(
    'SELECT coalesce(max(row_number), 0) FROM enriched_rows WHERE job = $job',
    { job },
  );
  return Number(reader.getRowsJson()[0]?.[0]);
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
