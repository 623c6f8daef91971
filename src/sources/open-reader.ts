import { type Stats, statSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { type FileFormat, isAddress, isPattern, type SourceFields } from '../core/rows/source-fields.js';
import { isPostgresUrl } from '../postgres/index.js';
import { CsvError, csvFilesReader, csvReader, InputUnsteady, jsonReader, type RowReader } from '../rows/index.js';
import { openScratchDuckDb, plainPath } from '../warehouse/index.js';
import { duckDbReader, firstLine, resourceError } from './duckdb-reader.js';
import { formatOfFile, formatOfName } from './file-format.js';
import { pinnedReader } from './pinned-files.js';
import { postgresReader } from './postgres-reader.js';
import { queryReader } from './query-reader.js';
import { copyingReader, formatOfAddress, parquetQuery, remoteParquetReader } from './remote-reader.js';
import { withLimit } from './with-limit.js';

/** An input of rows. */
export interface SourceRequest extends SourceFields {
  /**
   * The absolute path of a file or folder, a pattern such as `/data/*.csv`, an address such as `s3://…`, the address of a database with user
   * and password, or `-` for `stdin`.
   */
  readonly input: string;
  readonly stdin: Readable;
  /** Throws if one of these open files, named by its real path, must not be read. Absent: all may be read. */
  readonly checkFiles?: ((files: readonly string[]) => Promise<void>) | undefined;
  /** Of a CSV; null: detected. */
  readonly delimiter: string | null;
  readonly encoding?: string;
  /** Folder with extensions of DuckDB; null or absent: none. */
  readonly extensions?: string | null;
  /** Time in ms that DuckDB may take until it returns rows; default ten minutes. */
  readonly limitMs?: number;
  /** Whether the columns of a key identify the rows, so that their order does not matter. */
  readonly isKeyed?: boolean;
  /** Folder for temporary files of this request. The caller removes it. */
  readonly scratch: string;
}

const LIMIT_MS = 600_000;

/** Returns the reader of an input. Throws `CsvError`, one sentence, for an input that has no reader. */
export function openReader(request: SourceRequest): RowReader {
  const { input, stdin, scratch, format, sql, table, isKeyed = false } = request;
  const duckDb = { temporary: join(scratch, 'duckdb'), limitMs: request.limitMs ?? LIMIT_MS };
  if (isPostgresUrl(input)) {
    if (sql === undefined)
      throw new CsvError(
        'source-options-wrong',
        'A database needs --sql, one SELECT such as "SELECT id, url FROM brands"',
      );
    return postgresReader({ url: input, sql, isKeyed });
  }
  if (sql !== undefined || table !== undefined) {
    if (input === '-' || isAddress(input))
      throw new CsvError(
        'source-options-wrong',
        '--sql and --table need a DuckDB file on this machine, not standard input or an address',
      );
    const { checkFiles } = request;
    return queryReader({ file: input, checkFiles, ...(sql === undefined ? { table } : { sql }), isKeyed, ...duckDb });
  }
  if (input === '-') {
    if (format === 'parquet')
      throw new CsvError(
        'source-options-wrong',
        'Parquet cannot be read from standard input, because its columns are listed at its end: name a file',
      );
    return format === 'jsonl' ? json(request, stdin) : csv(request, stdin);
  }
  if (isAddress(input)) {
    const remote = { address: input, format, extensions: request.extensions ?? null, ...duckDb };
    const at = formatOfAddress(input, format);
    return at === 'parquet'
      ? remoteParquetReader(remote)
      : copyingReader(remote, (files) => readerOfFiles({ ...request, format: at }, files, duckDb));
  }
  return {
    async open(signal) {
      const files = await listFiles(input, format, duckDb.temporary, duckDb.limitMs);
      const readerOf = (paths: readonly string[]) => readerOfFiles(request, paths, duckDb);
      const { checkFiles: check } = request;
      return (check === undefined ? readerOf(files) : pinnedReader({ files, scratch, check }, readerOf)).open(signal);
    },
  };
}

function readerOfFiles(
  request: SourceRequest,
  files: readonly string[],
  duckDb: { readonly temporary: string; readonly limitMs: number },
): RowReader {
  const { delimiter, encoding, format } = request;
  // Each file is checked, because a name may lie.
  const [first] = files.map((file) => formatOfFile(file, format));
  switch (first) {
    case 'parquet':
      return parquetReader(files, duckDb);
    case 'jsonl':
      return json(request, files);
    default:
      return csvFilesReader(files, { delimiter, ...(encoding ? { encoding } : {}) });
  }
}

function csv({ delimiter, encoding }: SourceRequest, source: Readable): RowReader {
  return csvReader({ source, delimiter, ...(encoding ? { encoding } : {}) });
}

function json({ encoding, scratch }: SourceRequest, source: readonly string[] | Readable): RowReader {
  return jsonReader({ source, spool: join(scratch, 'stdin'), ...(encoding ? { encoding } : {}) });
}

/**
 * Returns a reader of Parquet files as one table, in this order. All files have the same columns. `temporary`, `limitMs`: see `DuckDbRows`.
 */
function parquetReader(
  files: readonly string[],
  { temporary, limitMs }: { readonly temporary: string; readonly limitMs: number },
): RowReader {
  return {
    async open() {
      const before = files.map(stateOf);
      let current = files[0] as string;
      return duckDbReader({
        temporary,
        limitMs,
        prepare: (connection) =>
          parquetQuery(connection, {
            files: files.map(plainPath),
            shown: (path) => files.find((file) => plainPath(file) === path) ?? path,
            reading: (file) => {
              current = file;
            },
          }),
        explain: (error) => {
          if (error instanceof CsvError) return error;
          const shown = files.find((file) => String(error).includes(file)) ?? current;
          return (
            resourceError(error) ??
            new CsvError('input-damaged', `${shown} cannot be read as Parquet (${firstLine(error)})`)
          );
        },
        bytes: before.reduce((sum, { size }) => sum + size, 0),
        notes: () => [],
        end: async () => {
          for (const [index, file] of files.entries())
            if (!isSame(before[index] as Stats, stateOf(file)))
              throw new InputUnsteady(
                'input-changed',
                `${file} changed while it was read; try again once it is complete`,
              );
        },
      }).open();
    },
  };
}

function stateOf(path: string): Stats {
  const there = statSync(path, { throwIfNoEntry: false });
  if (there === undefined) throw new CsvError('input-missing', `${path} does not exist`);
  return there;
}

const isSame = (before: Stats, after: Stats) =>
  after.size === before.size && after.mtimeMs === before.mtimeMs && after.ino === before.ino;

/** Most files of one input. */
const MOST_FILES = 10_000;

/**
 * Returns the files that a path names, in the order of their names: the file, the files of a folder, or those that match a pattern such as
 * `data/*.parquet`. Of a folder, only files of a known format count, and no hidden file. Throws `CsvError` if there is none.
 */
async function listFiles(
  path: string,
  format: FileFormat | undefined,
  scratch: string,
  limitMs: number,
): Promise<readonly string[]> {
  const there = await stat(path).catch(() => null);
  // A missing file is reported by its reader.
  if (there?.isFile() || (there === null && !isPattern(path))) return [path];
  if (there !== null && !there.isDirectory())
    throw new CsvError(
      'input-unreadable',
      `${path} is a pipe or a device, not a file: read it from standard input, such as searchflow enrich - --job NAME < ${path}`,
    );
  const all = there === null ? await matches(path, scratch, limitMs) : await filesIn(path);
  const files = all.filter((file) => !basename(file).startsWith('.'));
  const isMeant = (file: string) => (format === undefined || there === null ? true : formatOfName(file) === format);
  const known = there === null ? files : files.filter((file) => formatOfName(file) !== null && isMeant(file));
  if (known.length === 0)
    throw new CsvError(
      'input-missing',
      there === null ? `No file matches ${path}` : `${path} has no ${format ?? 'CSV, JSON Lines or Parquet'} file`,
    );
  if (known.length > MOST_FILES)
    throw new CsvError(
      'input-too-large',
      `${path} has ${known.length} files; ${MOST_FILES} is the limit for one input`,
    );
  const formats = [...new Set(known.map((file) => formatOfName(file) ?? 'csv'))];
  if (format === undefined && formats.length > 1)
    throw new CsvError(
      'input-wrong-format',
      `${path} has files of several formats (${formats.join(', ')}): name those of one format, such as ${join(there === null ? dirname(path) : path, `*.${formats[0]}`)}`,
    );
  return known;
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const files: string[] = [];
  for (const entry of entries) {
    const path = join(folder, entry.name);
    const isFile = entry.isSymbolicLink() ? (await stat(path).catch(() => null))?.isFile() : entry.isFile();
    if (isFile) files.push(path);
  }
  return files.sort(byName);
}

async function matches(pattern: string, scratch: string, limitMs: number): Promise<string[]> {
  const { connection, close } = await openScratchDuckDb(scratch);
  try {
    const found = await withLimit(connection.runAndReadAll('SELECT file FROM glob($1)', [pattern]), limitMs);
    return found
      .getRows()
      .map(([file]) => String(file))
      .sort(byName);
  } finally {
    close();
  }
}

const byName = (a: string, b: string) => (a < b ? -1 : 1);
