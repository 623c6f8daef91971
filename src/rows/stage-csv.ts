import { rm } from 'node:fs/promises';
import { DigestMap } from '../core/purchase/digest-map.js';
import type { Sha256 } from '../core/purchase/unit-key.js';
import { makeFolder } from '../files/make-folder.js';
import { moveDurably, writeDurably } from '../files/write-durably.js';
import type { CsvRecord } from './csv/csv-record.js';
import { CsvError } from './csv-error.js';
import { TextDecoding } from './decode.js';
import { readHeader } from './header.js';
import { RowGroups } from './row-groups.js';
import { type SliceSizes, SliceWriter } from './slice-writer.js';
import { openSource, type RowSource } from './source.js';
import { manifestFile, type StagedBadRow, type StageManifest } from './stage-manifest.js';
import { type ReadRow, readRow, writeRow } from './stage-row.js';
import { type BoundUnits, bindUnits, type UnitSource } from './unit-source.js';
import { withScheme } from './url-problem.js';

const MAX_SHOWN = 1000;
/** Maximum numbers of rows and of characters that are read to find the column of URLs. */
const PEEK_ROWS = 1000;
const PEEK_CHARS = 8 * 1024 * 1024;

export interface StageOptions {
  readonly source: RowSource;
  readonly units: UnitSource;
  /** One character, or `\t` in two characters. Null: the most frequent of `, ; tab |` in the first line. */
  readonly delimiter: string | null;
  /** Encoding of an input without a byte order mark, a label such as `windows-1252`. Absent: UTF-8. */
  readonly encoding?: string;
  readonly rowsPerSlice: SliceSizes;
  /** Returns the key of a unit, 32 hex digits; see `unitKeys`. */
  readonly keyOf: (unit: string) => string;
  readonly sha256: Sha256;
  /** Directory of the stage. The directory must not exist before; it is created in one step. */
  readonly outDir: string;
  readonly signal?: AbortSignal;
  /** Called after every piece of the input. `bytes` counts stored bytes; `total` is null for a stream. */
  readonly onProgress?: (progress: {
    readonly bytes: number;
    readonly total: number | null;
    readonly rows: number;
  }) => void;
}

/**
 * Reads a CSV file once, checks every row, and writes all rows to slices of gzip JSON lines, in constant memory. A row that cannot be
 * bought is kept with its tag and message. If the input is not a table, throws `CsvError` (one sentence with line and column) and leaves
 * nothing on the disk.
 */
export async function stageCsv(options: StageOptions): Promise<StageManifest> {
  const delimiter = checkDelimiter(options.delimiter);
  const source = await openSource(options.source);
  const draft = `${options.outDir}.part`;
  try {
    await rm(draft, { recursive: true, force: true });
    makeFolder(draft);
    const writer = new SliceWriter(draft, options.rowsPerSlice);
    try {
      const facts = await stageRows(options, delimiter, source, writer);
      await writer.end();
      const manifest: StageManifest = {
        version: 1,
        ...facts,
        slices: writer.slices,
        rowsPerSlice: writer.rowsPerSlice,
        contentHash: source.contentHash(),
      };
      await writeDurably(manifestFile(draft), `${JSON.stringify(manifest)}\n`);
      await moveDurably(draft, options.outDir);
      return manifest;
    } finally {
      await writer.abandon();
    }
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  } finally {
    await source.close();
  }
}

interface Table {
  readonly columns: readonly string[];
  readonly units: BoundUnits;
}

type Facts = Omit<StageManifest, 'version' | 'slices' | 'rowsPerSlice' | 'contentHash'>;

async function stageRows(
  options: StageOptions,
  delimiter: string | null,
  source: Awaited<ReturnType<typeof openSource>>,
  writer: SliceWriter,
): Promise<Facts> {
  const name = typeof options.source === 'string' ? options.source : undefined;
  const decoding = new TextDecoding(options.encoding, name);
  // The parser is loaded only where rows are staged.
  const { CsvRecords } = await import('./csv/csv-records.js');
  const records = new CsvRecords(delimiter);
  const units = new DigestMap(4096);
  const firstBad: StagedBadRow[] = [];
  const cells = { filled: 0, urls: 0, withoutScheme: 0 };
  let columns: readonly string[] | null = null;
  const renamed: { readonly column: number; readonly name: string }[] = [];
  let table: Table | null = null;
  let groups: RowGroups | null = null;
  /** Rows that are kept back until enough rows are read to find the column of URLs. */
  let waiting: CsvRecord[] = [];
  let waitingChars = 0;
  let rows = 0;
  let badRows = 0;

  const isNew = (key: string) => units.set(key, 0);
  const put = (row: ReadRow, shared: string | null): Promise<void> | null => {
    const { bad, line } = writeRow(row, options.keyOf, isNew, shared);
    if (bad !== null && ++badRows <= MAX_SHOWN) firstBad.push(bad);
    return writer.add(line);
  };
  const takeRow = async (record: CsvRecord, { columns, units }: Table) => {
    rows++;
    const row = readRow(record, rows, { columns, units }, options.sha256);
    const { unit, problem } = row.found;
    if (unit !== null) cells.filled++;
    if (problem === null) cells.urls++;
    else if (problem.tag === 'INVALID_URL' && withScheme(unit as string, 'https') !== null) cells.withoutScheme++;
    const written = groups === null ? put(row, null) : null;
    if (written !== null) await written;
    for (const one of groups?.add(row) ?? []) await put(one.row, one.unit);
  };
  /** Finds the source of units from the rows that were kept back, then stages these rows. */
  const open = async (header: readonly string[]): Promise<Table> => {
    const whole = waiting.flatMap(({ cells: row, problem }) => (problem === null ? [row] : []));
    const opened = { columns: header, units: bindUnits(options.units, header, whole) };
    if (opened.units.group !== null) groups = new RowGroups(opened.units.group);
    table = opened;
    for (const record of waiting) await takeRow(record, opened);
    waiting = [];
    return opened;
  };
  const take = async (text: string, last: boolean) => {
    for (const record of records.read(text, last)) {
      if (columns === null) {
        columns = readHeader(record);
        for (const [index, name] of columns.entries())
          if (name !== record.cells[index]) renamed.push({ column: index + 1, name });
      } else if (table !== null) await takeRow(record, table);
      else {
        waiting.push(record);
        waitingChars += record.cells.reduce((sum, cell) => sum + cell.length + 1, 0);
        if (waiting.length >= PEEK_ROWS || waitingChars >= PEEK_CHARS) await open(columns);
      }
    }
    if (last && columns !== null && table === null) await open(columns);
  };

  for await (const chunk of source.chunks()) {
    options.signal?.throwIfAborted();
    await take(decoding.decode(chunk, false), false);
    options.onProgress?.({ ...source.progress(), rows });
  }
  await take(decoding.decode(Buffer.alloc(0), true), true);
  for (const one of (groups as RowGroups | null)?.end() ?? []) await put(one.row, one.unit);
  const found = table as Table | null;
  if (found === null) throw new CsvError('The input is empty: it has no header and no rows');
  if (rows === 0) throw new CsvError('The input has a header, but no rows', 1);
  return {
    columns: found.columns,
    ...(renamed.length === 0 ? {} : { renamed }),
    unitColumn: found.units.unitColumn,
    urlCells: found.units.foundBy === null ? null : { by: found.units.foundBy, ...cells },
    delimiter: records.delimiter as string,
    rows,
    badRows,
    distinctUnits: units.size,
    firstBad,
  };
}

function checkDelimiter(delimiter: string | null): string | null {
  const one = delimiter === '\\t' ? '\t' : delimiter;
  if (one === null || (one.length === 1 && !/["\r\n\0]/.test(one))) return one;
  throw new CsvError(
    `The delimiter must be one character other than a quote or line break, not ${JSON.stringify(delimiter)}`,
  );
}
