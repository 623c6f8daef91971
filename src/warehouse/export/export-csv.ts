import { createReadStream, statSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type CsvForm, usualCsv } from '../../core/rows/row-warehouse.js';
import { inFolder } from '../../files/open-path.js';
import { moveDurably } from '../../files/write-durably.js';
import { literal } from '../shared/duckdb-quote.js';
import { viewColumns } from '../shared/view-columns.js';
import { guardedCsvQuery } from './csv-formula-guard.js';
import { type JobRows, memoryFor, partsOf, type RowReader } from './job-rows.js';

/**
 * See `RowWarehouse.exportCsv`. The file has UTF-8 and LF. Cells of the input are written unchanged. Texts from the web are made
 * harmless for spreadsheets, see `guardedCsvQuery`. A file that is replaced keeps its permissions.
 */
export async function exportCsv(
  { connection, rows: job, need }: RowReader,
  folder: string,
  file: string,
  { delimiter, bom }: CsvForm = usualCsv,
): Promise<{ readonly rows: number; readonly bytes: number }> {
  const added = job.results.filter(({ csv }) => csv);
  const [whole, piece] = [join(folder, 'whole.csv'), join(folder, 'piece.csv')];
  await need(memoryFor(job.columns.length));
  const { mode = 0o644 } = statSync(file, { throwIfNoEntry: false }) ?? {};
  const draft = await open(whole, 'wx', mode & 0o777);
  let rows = 0;
  let bytes = 0;
  try {
    await draft.writeFile(`${bom ? '\ufeff' : ''}${header(job, delimiter)}`);
    const { columns, types, hasExtraCells } = job;
    const guarded = { columns: columns.length, types, added, hasExtraCells, delimiter };
    for await (const part of partsOf(job)) {
      const copied = await connection.runAndReadAll(
        `COPY (${guardedCsvQuery(guarded, part)}) TO ${literal(piece)} (FORMAT csv, DELIMITER ${literal(delimiter)}, HEADER false, TIMESTAMPFORMAT '%Y-%m-%dT%H:%M:%S.%fZ')`,
      );
      rows += Number(copied.getRowsJson()[0]?.[0]);
      for await (const bytes of createReadStream(piece, { highWaterMark: 1 << 20 })) await draft.writeFile(bytes);
      await rm(piece);
    }
    bytes = (await draft.stat()).size;
  } finally {
    await draft.close();
  }
  await inFolder(dirname(file), (held) => moveDurably(whole, join(held, basename(file))));
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
