import { statSync } from 'node:fs';
import { extname } from 'node:path';
import { fileKind } from '../../files/file-kind.js';

/** Endings of data files that are not DuckDB databases. */
const dataFiles = (
  'csv tsv psv tab txt json jsonl ndjson geojson parquet pq arrow feather avro orc xls xlsx xlsm ods numbers sqlite sqlite3 xml html ' +
  'htm pdf md yaml yml toml ini log sql gz gzip bz2 xz zst zip tar tgz 7z'
).split(' ');

/**
 * Returns why a file cannot be a DuckDB warehouse, such as `is a folder`; null if the file can. An existing file is judged by its contents,
 * a new file by its name. DuckDB itself opens some data files as if they were databases. Throws the system's error if the file cannot be
 * read.
 */
export function whyNoDatabase(file: string): string | null {
  const there = statSync(file, { throwIfNoEntry: false });
  if (there === undefined) {
    const ending = extname(file).slice(1).toLowerCase();
    return dataFiles.includes(ending) ? `is named as a .${ending} file, not as a database; name it .duckdb` : null;
  }
  if (there.isDirectory()) return 'is a folder; name a file';
  if (!there.isFile()) return 'is not a regular file; name another one';
  const kind = fileKind(file);
  if (kind === 'DuckDB database') return null;
  return `is ${kind === null ? 'not a DuckDB database' : `a ${kind}, not a DuckDB database`}; name another file`;
}
