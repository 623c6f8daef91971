import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isAddress, isPattern } from '../core/rows/source-fields.js';
import { isPostgresUrl } from '../postgres/index.js';
import { CsvError, csvFilesReader, csvReader, jsonReader, type RowReader } from '../rows/index.js';
import { openScratchDuckDb } from '../warehouse/index.js';
import { duckDbFolder, withLimit } from './duckdb-reader.js';
import { formatOfFile, formatOfName } from './file-format.js';
import { namedReader, pinFiles } from './named-files.js';
import { parquetReader } from './parquet-reader.js';
import { postgresReader } from './postgres-reader.js';
import { queryReader } from './query-reader.js';
import { copyFiles, formatOfAddress, remoteParquetReader } from './remote-reader.js';
import type { SourceRequest } from './source-request.js';

/** Returns the reader of an input. Throws `CsvError`, one sentence, for an input that has no reader. */
export function openReader(request: SourceRequest): RowReader {
  const { input, stdin, piped = '', scratch, format, sql, table, checkFiles } = request;
  if (isPostgresUrl(input)) {
    if (sql !== undefined) return postgresReader(request, sql);
    throw new CsvError(
      'source-options-wrong',
      'A database needs --sql, one SELECT such as "SELECT id, url FROM brands"',
    );
  }
  if (sql !== undefined || table !== undefined) {
    if (input !== '-' && !isAddress(input)) return queryReader(request);
    throw new CsvError(
      'source-options-wrong',
      '--sql and --table need a DuckDB file on this machine, not standard input or an address',
    );
  }
  if (input === '-') {
    if (format === 'parquet')
      throw new CsvError(
        'source-options-wrong',
        'Parquet cannot be read from standard input, because its columns are listed at its end: name a file',
      );
    return format === 'jsonl' ? jsonReader([piped], request.encoding) : csvReader({ ...request, source: stdin });
  }
  if (isAddress(input)) {
    const at = formatOfAddress(input, format);
    if (at === 'parquet') return remoteParquetReader(request);
    return namedReader(
      () => copyFiles(request),
      (copies) => readerOfFiles({ ...request, format: at }, copies),
    );
  }
  return {
    async open(signal) {
      const files = await listFiles(request);
      const readerOf = (paths: readonly string[]) => readerOfFiles(request, paths);
      const reader =
        checkFiles === undefined ? readerOf(files) : namedReader(() => pinFiles(files, scratch, checkFiles), readerOf);
      return reader.open(signal);
    },
  };
}

function readerOfFiles(request: SourceRequest, files: readonly string[]): RowReader {
  // Each file is checked, because a name may lie.
  const [first] = files.map((file) => formatOfFile(file, request.format));
  if (first === 'parquet') return parquetReader(request, files);
  return first === 'jsonl' ? jsonReader(files, request.encoding) : csvFilesReader(files, request);
}

const MOST_FILES = 10_000;

/**
 * Returns the files that a path names, in the order of their names: the file, the files of a folder, or those that match a pattern such as
 * `data/*.parquet`. Of a folder, only files of a known format count, and no hidden file. Throws `CsvError` if there is none.
 */
async function listFiles(request: SourceRequest): Promise<readonly string[]> {
  const { input: path, format } = request;
  const there = await stat(path).catch(() => null);
  // A missing file is reported by its reader.
  if (there?.isFile() || (there === null && !isPattern(path))) return [path];
  if (there !== null && !there.isDirectory())
    throw new CsvError(
      'input-unreadable',
      `${path} is a pipe or a device, not a file: read it from standard input, such as searchflow enrich - --job NAME < ${path}`,
    );
  const all = there === null ? await matches(request) : await filesIn(path);
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

async function matches(request: SourceRequest): Promise<string[]> {
  const { connection, close } = await openScratchDuckDb(duckDbFolder(request));
  try {
    const asked = connection.runAndReadAll('SELECT file FROM glob($1)', [request.input]);
    const found = (await withLimit(request, asked)).getRows();
    return found.map(([file]) => String(file)).sort(byName);
  } finally {
    close();
  }
}

const byName = (a: string, b: string) => (a < b ? -1 : 1);
