import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type FileFormat, isPattern } from '../core/rows/source-fields.js';
import { CsvError } from '../rows/index.js';
import { openScratchDuckDb } from '../warehouse/index.js';
import { formatOfName } from './file-format.js';
import { withLimit } from './with-limit.js';

/** Most files of one input. */
const MOST_FILES = 10_000;

/**
 * Returns the files that a path names, in the order of their names: the file, the files of a folder, or those that match a pattern such as
 * `data/*.parquet`. Of a folder, only files of a known format count, and no hidden file. Throws `CsvError` if there is none.
 */
export async function listFiles(
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
