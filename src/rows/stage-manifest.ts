import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { CodedError } from '../core/errors/coded-error.js';
import { FORGOTTEN } from '../core/purchase/forgotten.js';
import type { ColumnType } from '../core/rows/column-type.js';
import type { UrlCells } from '../core/rows/job-output-schemas.js';
import type { StagedRow } from '../core/rows/row-warehouse.js';
import { writeDurably } from '../files/write-durably.js';
import { CsvError } from './csv-error.js';

export type { UrlCells } from '../core/rows/job-output-schemas.js';

/** A row that cannot be bought, for display. */
export interface StagedBadRow {
  /** Row number, from 1. */
  readonly row: number;
  readonly tag: string;
  /** The problem with its position: `line 12, column 2 ("url"): …` */
  readonly message: string;
}

/** The content of `manifest.json` in a stage. The file is written after the slices. */
export interface StageManifest {
  readonly version: 1;
  readonly columns: readonly string[];
  /** Types of the columns. Absent: the input is a CSV, whose cells are texts. */
  readonly types?: readonly ColumnType[];
  /** Columns that have no name of their own in the input: positions from 1, with the names that they were given. Absent: none. */
  readonly renamed?: readonly { readonly column: number; readonly name: string }[];
  /** The column of URLs; null where units come from a template. */
  readonly unitColumn: string | null;
  /** Counts of the cells in the column of URLs; null if units come from a template. */
  readonly urlCells: UrlCells | null;
  /** The delimiter of a CSV; null for other formats. */
  readonly delimiter: string | null;
  /** Whether the CSV begins with a byte order mark. Absent: it does not. */
  readonly bom?: true;
  /** Sentences for the plan. Absent: none. */
  readonly notes?: readonly string[];
  readonly rows: number;
  readonly badRows: number;
  /** Number of different units of good rows. */
  readonly distinctUnits: number;
  readonly slices: number;
  /** Number of rows in each slice except the last. */
  readonly rowsPerSlice: number;
  /** Hex SHA-256 of the decompressed input; for typed columns, of columns and cells. */
  readonly contentHash: string;
  /** The first thousand bad rows. */
  readonly firstBad: readonly StagedBadRow[];
}

const unzip = promisify(gunzip);
const zip = promisify(gzip);

/** Returns the path of a slice: gzip JSON lines of `StagedRow`. */
export function sliceFile(stageDir: string, slice: number): string {
  // The number is checked, because it comes from the state of a workflow.
  if (!Number.isSafeInteger(slice) || slice < 0)
    throw new CsvError('workflow-input-invalid', 'The number of a slice must be a whole number from 0');
  return join(stageDir, `${String(slice).padStart(6, '0')}.jsonl.gz`);
}

export function manifestFile(stageDir: string): string {
  return join(stageDir, 'manifest.json');
}

/** Returns the manifest of a complete stage; `null` if the stage is not complete. */
export async function readStage(stageDir: string): Promise<StageManifest | null> {
  try {
    return JSON.parse(await readFile(manifestFile(stageDir), 'utf8')) as StageManifest;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new CodedError(
      'staged-rows-missing',
      `${manifestFile(stageDir)} cannot be read. Delete the directory ${stageDir} and run the job again`,
      { cause: error },
    );
  }
}

/** Writes the rows of a slice for which `keep` is true to `copy`, unchanged and compressed. Returns the path of the copy. */
export async function cutRows(rowsFile: string, keep: (row: StagedRow) => boolean, copy: string): Promise<string> {
  const text = await textOf(await readFile(rowsFile));
  const kept = text.split('\n').filter((line) => line !== '' && keep(JSON.parse(line) as StagedRow));
  await writeFile(copy, await zip(kept.map((line) => `${line}\n`).join('')), { mode: 0o600 });
  return copy;
}

export function readSlice(rowsFile: string): Promise<readonly StagedRow[]> {
  return readLines(rowsFile, (line) => JSON.parse(line) as StagedRow);
}

/** The start of a row's cells, which end its line. A text before them has no such characters, because its quotes are escaped. */
const CELLS = ',"i":[';

/** The rows of one slice without their cells, which may be many. */
export function readUnits(rowsFile: string): Promise<readonly Omit<StagedRow, 'i'>[]> {
  return readLines(rowsFile, (line) => JSON.parse(`${line.slice(0, line.indexOf(CELLS))}}`) as Omit<StagedRow, 'i'>);
}

/** Most bytes of memory for the text of a slice before its size is known for certain. */
const MOST_TEXT_BYTES = 16_777_216;

/** Returns the lines of a slice as one text. A gzip file ends with the size of its content, so that the content gets one piece of memory. */
async function textOf(packed: Uint8Array): Promise<string> {
  const { buffer, byteOffset, length } = packed;
  // One byte more, because zlib takes another piece when the first is full.
  const size = length < 4 ? 0 : new DataView(buffer, byteOffset).getUint32(length - 4, true) + 1;
  const chunkSize = Math.min(Math.max(size, 65_536), MOST_TEXT_BYTES);
  return (await unzip(packed, { chunkSize })).toString('utf8');
}

export async function readLines<Row>(rowsFile: string, parse: (line: string) => Row): Promise<readonly Row[]> {
  const text = await textOf(await readFile(rowsFile));
  const rows: Row[] = [];
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf('\n', from);
    rows.push(parse(text.slice(from, end)));
    from = end + 1;
  }
  return rows;
}

/** A staged row without its values. The bad rows of a stage have no unit. */
export const forgottenRow = ({ n, h, k, d, i }: StagedRow): StagedRow => ({
  ...{ n, h, k, u: k === null ? null : '', e: k === null ? FORGOTTEN : null, m: null },
  d,
  i: i.map(() => null),
});

/** Returns a packed slice without the values of some rows; null if none of them has values. */
export async function forgetInSlice(
  packed: Uint8Array,
  isForgotten: (row: StagedRow) => boolean,
): Promise<{ readonly packed: Buffer; readonly rows: number } | null> {
  let rows = 0;
  const lines = (await textOf(packed)).split('\n');
  const changed = lines.map((line) => {
    if (line === '') return line;
    const row = JSON.parse(line) as StagedRow;
    if (!isForgotten(row)) return line;
    const next = JSON.stringify(forgottenRow(row));
    if (next === JSON.stringify({ ...forgottenRow(row), ...row })) return line;
    rows++;
    return next;
  });
  return rows === 0 ? null : { packed: await zip(changed.join('\n')), rows };
}

/** Removes the messages about bad rows from the manifest of a stage. Returns whether it had such messages. */
export async function forgetInManifest(
  stageDir: string,
  isForgotten: (row: number) => boolean,
  dryRun: boolean,
): Promise<boolean> {
  const manifest = await readStage(stageDir);
  const isOld = ({ row, tag }: StagedBadRow) => tag !== FORGOTTEN && isForgotten(row);
  if (manifest === null || !manifest.firstBad.some(isOld)) return false;
  const firstBad = manifest.firstBad.map((bad) => (isOld(bad) ? { row: bad.row, tag: FORGOTTEN, message: '' } : bad));
  if (!dryRun) await writeDurably(manifestFile(stageDir), `${JSON.stringify({ ...manifest, firstBad })}\n`);
  return true;
}
