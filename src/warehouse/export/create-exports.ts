import { createReadStream, lstatSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { type CsvForm, type RowExports, usualCsv } from '../../core/rows/row-warehouse.js';
import { WarehouseBusy, WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import { withDraftFolder } from '../../files/draft-folder.js';
import { LockBusy } from '../../files/process-lock.js';
import { realPath } from '../../files/same-file.js';
import { moveDurably } from '../../files/write-durably.js';
import type { Database, WarehousesOptions } from '../database.js';
import { unknownJob } from '../rows/read-job.js';
import { warehouseError } from '../shared/duckdb-error.js';
import { literal } from '../shared/duckdb-quote.js';
import { viewColumns } from '../shared/view-columns.js';
import { guardedCsvQuery } from './csv-formula-guard.js';
import { exportParquet } from './export-parquet.js';
import { type JobRows, readJobRows } from './file-parts.js';
import type { SourceDatabase, SourceDuckDb } from './job-rows.js';
import { type TargetKind, whyNoTarget } from './why-no-target.js';

/** Time for which an export or a publish waits for another one into the same target. */
const WAIT_MS = 600_000;

/** Runs `work` while no other export or publish writes the target. The folder of drafts is beside the target, see `withDraftFolder`. */
export async function withDrafts<T>(
  what: 'export' | 'publish',
  target: string,
  say: (sentence: string) => void,
  work: (drafts: string, held: string) => Promise<T>,
): Promise<T> {
  try {
    return await withDraftFolder(target, work, { waitMs: WAIT_MS, say });
  } catch (error) {
    if (!(error instanceof LockBusy)) throw error;
    throw new WarehouseBusy('target-in-use', `Another ${what} is writing ${target}: ${error.message}`, error.pid);
  }
}

/** Runs `work` with a DuckDB that reads an existing warehouse; may repeat `work`. `missing` makes the error without a warehouse. */
export const withSource = <T>(
  { exists, patiently, source }: Database,
  manner: Parameters<SourceDatabase>[1],
  scratch: string,
  missing: () => Error,
  work: (source: SourceDuckDb) => Promise<T>,
): Promise<T> =>
  patiently(async () => {
    if (!(await exists())) throw missing();
    return source(scratch, manner, work);
  });

/** A step of an export: writes a draft into the folder `drafts`, and then replaces `target` by the draft. `shown`: the target, for messages. */
type Export<T> = (
  connection: DuckDBConnection,
  job: JobRows,
  drafts: string,
  target: string,
  shown: string,
) => Promise<T>;

/**
 * Returns the exports of a database. Exports of one target run one at a time. The target is replaced in one
 * step, or not changed.
 */
export function createExports(database: Database, { say = () => undefined, check }: WarehousesOptions): RowExports {
  const { file, shown, patiently } = database;
  const exporting = async <T>(kind: TargetKind, job: string, path: string, write: Export<T>): Promise<T> => {
    const named = resolve(path);
    const target = join(realPath(dirname(named)), basename(named));
    const refuse = (input: string | null) => {
      const why = whyNoTarget(kind, target, { into: file, input });
      if (why !== null) throw new WarehouseUnusable('output-path-unusable', why);
    };
    const missing = () => unknownJob(job, shown);
    if (!(await patiently(database.exists))) throw missing();
    refuse(null);
    await check?.({ [kind === 'csv' ? 'csv' : 'publish']: target });
    return withDrafts('export', target, say, (drafts, held) =>
      withSource(database, 'parts', drafts, missing, async (source) => {
        const rows = await readJobRows(source, job, shown);
        refuse(rows.input);
        return write(source.connection, rows, drafts, join(held, basename(target)), target);
      }),
    ).catch((error: unknown) => {
      // A full disk or a missing permission concerns the target here, not the warehouse.
      throw warehouseError(error, target);
    });
  };
  return {
    exportCsv: (job, path, form) =>
      exporting('csv', job, path, (connection, rows, drafts, target) =>
        exportCsv(connection, rows, drafts, target, form),
      ),
    exportParquet: (job, dir) => exporting('parquet', job, dir, exportParquet),
  };
}

/**
 * See `RowExports.exportCsv`. The file has UTF-8 and LF. Cells of the input are written unchanged. Texts from the web are made
 * harmless for spreadsheets, see `guardedCsvQuery`. A file that is replaced keeps its permissions.
 */
async function exportCsv(
  connection: DuckDBConnection,
  job: JobRows,
  folder: string,
  file: string,
  { delimiter, bom }: CsvForm = usualCsv,
): Promise<{ readonly rows: number; readonly bytes: number }> {
  const added = job.results.filter(({ csv }) => csv);
  const [whole, piece] = [join(folder, 'whole.csv'), join(folder, 'piece.csv')];
  const { mode = 0o644 } = lstatSync(file, { throwIfNoEntry: false }) ?? {};
  const draft = await open(whole, 'wx', mode & 0o777);
  let rows = 0;
  let bytes = 0;
  try {
    await draft.writeFile(`${bom ? '\ufeff' : ''}${header(job, delimiter)}`);
    for await (const part of job.parts()) {
      const copied = await connection.runAndReadAll(
        `COPY (${guardedCsvQuery(job, added, delimiter, part)}) TO ${literal(piece)} (FORMAT csv, DELIMITER ${literal(delimiter)}, HEADER false, TIMESTAMPFORMAT '%Y-%m-%dT%H:%M:%S.%fZ')`,
      );
      rows += Number(copied.getRowsJson()[0]?.[0]);
      for await (const bytes of createReadStream(piece, { highWaterMark: 1 << 20 })) await draft.writeFile(bytes);
      await rm(piece);
    }
    bytes = (await draft.stat()).size;
  } finally {
    await draft.close();
  }
  await moveDurably(whole, file);
  return { rows, bytes };
}

/** The column of the cells that rows have after the last column of the header. */
const EXTRA_CELLS = 'extra_cells';

function header({ columns, results, hasExtraCells }: JobRows, delimiter: string): string {
  // Columns have the same names as in the view. In the view, columns that are not exported also take names.
  const named = viewColumns(columns, [...results.map(({ name }) => name), EXTRA_CELLS]).results;
  const names = named.filter((_, index) => results[index]?.csv ?? hasExtraCells);
  const cell = (name: string) =>
    /["\r\n]/.test(name) || name.includes(delimiter) ? `"${name.replaceAll('"', '""')}"` : name;
  return `${[...columns, ...names].map(cell).join(delimiter)}\n`;
}
