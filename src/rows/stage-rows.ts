import { createHash, type Hash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { DigestMap } from '../core/purchase/digest-map.js';
import { pageUrlOf, type Sha256 } from '../core/purchase/unit-key.js';
import { isJson } from '../core/rows/column-type.js';
import { count, some } from '../core/text/count.js';
import { withoutMarks } from '../core/text/value-forms.js';
import { makeFolder } from '../files/make-folder.js';
import { moveDurably, writeDurably } from '../files/write-durably.js';
import { CsvError, recordPosition } from './csv-error.js';
import { MAX_RECORD, nameColumns } from './header.js';
import type { OpenedTable, RowColumn, RowReader, RowRecord, RowUnit } from './row-reader.js';
import { type SliceSizes, SliceWriter } from './slice-writer.js';
import { manifestFile, type StagedBadRow, type StageManifest } from './stage-manifest.js';
import { bindKey, type ReadRow, type RowKey, type RowTarget, readRow, writeRow } from './stage-row.js';
import { type BoundUnits, bindUnits, type UnitSource } from './unit-source.js';
import { withScheme } from './url-problem.js';

const MAX_SHOWN = 1000;
/** Maximum numbers of rows and of characters that are read to find the column of URLs. */
const PEEK_ROWS = 1000;
const PEEK_CHARS = 8 * 1024 * 1024;
/** Maximum number of characters of the rows that share a unit. */
const MOST_GROUP_CHARS = MAX_RECORD / 4;

export interface StageOptions {
  readonly reader: RowReader;
  readonly units: UnitSource;
  /** Columns that identify a row. Absent: rows are identified by their cells. */
  readonly key?: readonly string[] | undefined;
  readonly rowsPerSlice: SliceSizes;
  /** Whether a table with columns and no rows is accepted: the rows of an earlier run are then vanished. */
  readonly mayBeEmpty?: boolean;
  /** Returns the key of a unit, 32 hex digits; see `unitKeys`. */
  readonly keyOf: (unit: string) => string;
  /** See `RowTarget`; absent: no row is forgotten. */
  readonly isForgotten?: RowTarget['isForgotten'];
  readonly sha256: Sha256;
  /** Directory of the stage. The directory must not exist before; it is created in one step. */
  readonly outDir: string;
  readonly signal?: AbortSignal | undefined;
  /** Called after every piece of the input. `bytes` counts stored bytes; `total` is null for a stream. */
  readonly onProgress?: (progress: {
    readonly bytes: number;
    readonly total: number | null;
    readonly rows: number;
  }) => void;
}

/**
 * Reads a table once, checks every row, and writes all rows to slices of gzip JSON lines, in constant memory. A row that cannot be
 * bought is kept with its tag and message. If the input is not a table, throws `CsvError` (one sentence with line and column) and leaves
 * nothing on the disk.
 */
export async function stageRows(options: StageOptions): Promise<StageManifest> {
  const opened = await options.reader.open(options.signal);
  const table = opened.isRendered ? opened : wholeTexts(opened);
  const draft = `${options.outDir}.part`;
  try {
    await rm(draft, { recursive: true, force: true });
    makeFolder(draft);
    const writer = new SliceWriter(draft, options.rowsPerSlice);
    try {
      const facts = await writeRows(options, table, writer);
      await writer.end();
      const manifest: StageManifest = {
        version: 1,
        ...facts,
        slices: writer.slices,
        rowsPerSlice: writer.rowsPerSlice,
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
    await table.close();
  }
}

type Facts = Omit<StageManifest, 'version' | 'slices' | 'rowsPerSlice'>;

async function writeRows(options: StageOptions, table: OpenedTable, writer: SliceWriter): Promise<Facts> {
  const { isTyped, renamed, delimiter, notes } = table;
  const columns = table.columns.map(({ name }) => name);
  let types = table.columns.map(({ type }) => type);
  const keys = new DigestMap(4096);
  const firstBad: StagedBadRow[] = [];
  const cells = { filled: 0, urls: 0, withoutScheme: 0 };
  const hash = table.contentHash() === null ? createHash('sha256').update(JSON.stringify([columns, types])) : null;
  let found: BoundUnits | null = null;
  let key: RowKey | null = null;
  let groups: RowGroups | null = null;
  /** Rows that are kept back until enough rows are read to find the column of URLs. */
  let waiting: RowRecord[] = [];
  let waitingChars = 0;
  let rows = 0;
  let badRows = 0;

  const oddities: Oddities = new Map();
  const spellings = new Spellings(options.sha256);
  const isNew = (key: string, unit: string) => {
    const known = keys.get(key);
    // A column of URLs: the page of a key may be spelled in several ways.
    if (found?.unitColumn == null) return keys.set(key, 0);
    keys.set(key, spellings.add(unit, known));
    return known === undefined;
  };
  const { isForgotten = () => false } = options;
  const put = (row: ReadRow, shared: string | null): Promise<void> | null => {
    const { bad, line } = writeRow(row, { keyOf: options.keyOf, isNew, isForgotten }, shared);
    if (bad !== null && ++badRows <= MAX_SHOWN) firstBad.push(bad);
    return writer.add(line);
  };
  const putAll = async (ready: ReturnType<RowGroups['add']>) => {
    for (const one of ready) await put(one.row, one.unit);
  };
  /** If it returns a promise, await the promise before the next row. */
  const takeRow = (record: RowRecord, units: BoundUnits): Promise<void> | null => {
    rows++;
    const row = readRow(record, rows, { columns, units, key }, options.sha256);
    const { unit, problem } = row.found;
    refuseLong(row.cells, 'row', record);
    refuseLong(unit ?? '', 'request', record);
    hash?.update(row.cells).update('\n');
    if (unit !== null) cells.filled++;
    if (problem === null) {
      cells.urls++;
      if (row.found.odd) addOddity(oddities, row.found.odd);
    } else if (problem.tag === 'INVALID_URL' && withScheme(unit as string, 'https') !== null) cells.withoutScheme++;
    return groups === null ? put(row, null) : putAll(groups.add(row));
  };
  /** Finds the source of units from the rows that were kept back, then stages these rows. */
  const bind = async (): Promise<BoundUnits> => {
    const whole = waiting.flatMap(({ cells: row, problem }) => (problem === null ? [row] : []));
    const units = await bindUnits(options.units, columns, whole, table.isRendered);
    key = options.key === undefined ? null : bindKey(options.key, columns, options.sha256);
    if (units.group !== null) groups = new RowGroups(units.group);
    found = units;
    for (const record of waiting) await takeRow(record, units);
    waiting = [];
    return units;
  };

  for await (const batch of table.batches()) {
    options.signal?.throwIfAborted();
    for (const record of batch) {
      if (found !== null) {
        const written = takeRow(record, found);
        if (written !== null) await written;
      } else {
        waiting.push(record);
        waitingChars += (record.json?.length ?? 0) + (record.unit?.unit?.length ?? 0);
        if (waiting.length >= PEEK_ROWS || waitingChars >= PEEK_CHARS) await bind();
      }
    }
    options.onProgress?.({ ...table.progress(), rows });
  }
  if (rows === 0 && waiting.length === 0 && !options.mayBeEmpty) throw noRows(isTyped);
  const units = found ?? (await bind());
  await putAll((groups as RowGroups | null)?.end() ?? []);
  const typesAtEnd = table.typesAtEnd?.() ?? types;
  if (String(typesAtEnd) !== String(types)) hash?.update(JSON.stringify(typesAtEnd));
  types = [...typesAtEnd];
  const allNotes = [...notes, ...spellings.notes(keys.size), ...oddNotes(oddities)];
  return {
    columns,
    types: isTyped ? types : undefined,
    renamed: renamed.length === 0 ? undefined : renamed,
    unitColumn: units.unitColumn,
    urlCells: units.foundBy === null ? null : { by: units.foundBy, ...cells },
    delimiter,
    bom: table.bom || undefined,
    notes: allNotes.length === 0 ? undefined : allNotes,
    rows,
    badRows,
    distinctUnits: keys.size,
    contentHash: table.contentHash() ?? (hash as Hash).digest('hex'),
    firstBad,
  };
}

/** Counts the distinct spellings of pages. */
class Spellings {
  readonly #sha256: Sha256;
  /** The spellings that differ from the one of `pageUrlOf`. */
  readonly #others = new DigestMap(64);
  #usual = 0;

  constructor(sha256: Sha256) {
    this.#sha256 = sha256;
  }

  /** Adds a URL. `known`: what this function returned for the earlier URLs of the page; 1: its usual spelling is counted. */
  add(url: string, known = 0): number {
    if (pageUrlOf(url) !== url) {
      this.#others.set(this.#sha256(url), 0);
      return known;
    }
    this.#usual += 1 - known;
    return 1;
  }

  notes(pages: number): readonly string[] {
    const all = this.#usual + this.#others.size;
    if (all === 0 || all === pages) return [];
    return [`${count(all)} spellings of URLs name ${some(pages, 'page')}; each page is bought once.`];
  }
}

type Oddities = Map<string, { cells: number; readonly example: string }>;

function addOddity(
  oddities: Oddities,
  { what, example, place }: NonNullable<(RowUnit & { problem: null })['odd']>,
): void {
  const known = oddities.get(what);
  if (known) known.cells++;
  else oddities.set(what, { cells: 1, example: `${place}: ${example}` });
}

const oddNotes = (oddities: Oddities): readonly string[] =>
  [...oddities].map(([what, { cells, example }]) => `${some(cells, 'URL')} ${what}; the first is in ${example}.`);

function noRows(isTyped: boolean): CsvError {
  return new CsvError('input-empty', isTyped ? 'The input has no rows' : 'The input has a header, but no rows', 1);
}

/** Refuses a row that a warehouse could not read. A code unit has at most three bytes. */
function refuseLong(text: string, what: 'row' | 'request', record: RowRecord): void {
  if (text.length * 3 <= MAX_RECORD || Buffer.byteLength(text) <= MAX_RECORD) return;
  const owner = what === 'row' ? 'the row' : 'the request of the row';
  throw new CsvError(
    'input-too-large',
    `${recordPosition(record)}: ${owner} has more than ${MAX_RECORD / 1024 / 1024} MiB, which is the limit`,
  );
}

/** A row and the unit that it shares with adjacent rows. */
interface GroupedRow {
  readonly row: ReadRow;
  /** Null for a row that cannot be bought. */
  readonly unit: string | null;
}

/**
 * Groups adjacent rows in their order, with up to `size` different good rows per unit, and fewer if the rows are large. Bad rows stay between
 * the good rows and have no unit.
 */
class RowGroups {
  readonly #size: number;
  readonly #join: (units: readonly string[]) => string;
  #waiting: ReadRow[] = [];
  #units: string[] = [];
  #chars = 0;

  constructor({ size, join }: { readonly size: number; join(units: readonly string[]): string }) {
    this.#size = size;
    this.#join = join;
  }

  add(row: ReadRow): readonly GroupedRow[] {
    const chars = row.cells.length + (row.found.unit?.length ?? 0);
    const before = this.#chars + chars > MOST_GROUP_CHARS ? this.end() : [];
    this.#chars += chars;
    this.#waiting.push(row);
    // Equal rows are sent once, so they count as one row of the group.
    if (row.found.problem === null && !this.#units.includes(row.found.unit)) this.#units.push(row.found.unit);
    return this.#units.length >= this.#size ? [...before, ...this.end()] : before;
  }

  end(): readonly GroupedRow[] {
    const unit = this.#units.length > 0 ? this.#join(this.#units) : null;
    const rows = this.#waiting.map((row) => ({ row, unit: row.found.problem === null ? unit : null }));
    this.#waiting = [];
    this.#units = [];
    this.#chars = 0;
    return rows;
  }
}

const REPLACED = '\ufffd';
/** An escaped backslash, an escaped pair, or NUL or half of a pair as an escape, which is captured. */
const escapes =
  /\\\\|\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(\\u(?:0000|[dD][89a-fA-F][\da-fA-F]{2}))/g;

/** Replaces half surrogate pairs, which are no characters: no database can hold them, and a job could not load what it bought. */
const whole = (text: string): string => text.replace(/\p{Cs}/gu, REPLACED);

const wholeJson = (json: string): string =>
  whole(json).replace(escapes, (found, half: string | undefined) => (half === undefined ? found : REPLACED));

/**
 * Returns a table whose texts every warehouse can hold: half a surrogate pair becomes U+FFFD in cells, in JSON and in names, and NUL in
 * JSON and in names. A byte order mark before a name goes.
 * Columns that then have the same name get different names.
 */
export function wholeTexts(table: OpenedTable): OpenedTable {
  const { columns } = table;
  const isJsonAt = columns.map(({ type }) => isJson(type));
  const { names } = nameColumns(columns.map(({ name }) => withoutMarks(whole(name).replaceAll('\0', REPLACED))));
  const renamed = names.flatMap((name, index) => (name === columns[index]?.name ? [] : [{ column: index + 1, name }]));
  return {
    ...table,
    columns: columns.map((column, index): RowColumn => ({ ...column, name: names[index] as string })),
    renamed: [...table.renamed.filter(({ column }) => !renamed.some((one) => one.column === column)), ...renamed],
    async *batches() {
      for await (const batch of table.batches()) yield batch.map((record) => wholeRecord(record, isJsonAt));
    },
  };
}

function wholeRecord(record: RowRecord, isJsonAt: readonly boolean[]): RowRecord {
  const json = JSON.stringify(record.cells);
  // JSON writes half of a pair as an escape.
  if (!/\\u(?:[dD]|0000)/.test(json)) return { ...record, json };
  const cells = record.cells.map((cell, index) => cell && (isJsonAt[index] ? wholeJson(cell) : whole(cell)));
  return { ...record, cells, json: JSON.stringify(cells) };
}
