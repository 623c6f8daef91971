import type { FileFormat } from '../core/choices.js';
import { fileKind } from '../files/file-kind.js';
import { CsvError } from '../rows/index.js';

const endings: Readonly<Record<string, FileFormat>> = {
  ...{ csv: 'csv', tsv: 'csv', txt: 'csv', tab: 'csv' },
  ...{ jsonl: 'jsonl', ndjson: 'jsonl', json: 'jsonl' },
  ...{ parquet: 'parquet', pq: 'parquet' },
};

/** The format that the ending of a name tells; null for other endings. */
export function formatOfName(name: string): FileFormat | null {
  const ending = /\.([a-z0-9]+)(\.gz)?$/i.exec(name)?.[1]?.toLowerCase();
  return ending === undefined ? null : (endings[ending] ?? null);
}

/** Returns the format of a file: `asked`, or by its name, or CSV. Throws `CsvError` if its first bytes are of another format. */
export function formatOfFile(path: string, asked: FileFormat | undefined): FileFormat {
  const format = asked ?? formatOfName(path) ?? 'csv';
  const kind = kindOf(path);
  if (kind === 'DuckDB database')
    throw new CsvError(
      'source-options-wrong',
      `${path} is a DuckDB database: name its rows with --table NAME or --sql 'SELECT …'`,
    );
  const wrong = (why: string) => new CsvError('input-wrong-format', `${path} is ${why}`);
  const but = kind === null ? '' : ` but a ${kind}`;
  if (asked === undefined && kind !== undefined && /\.(duckdb|ddb)$/i.test(path))
    throw wrong(`not a DuckDB database${but}: pass --format, or correct its name`);
  if (kind === 'Parquet file' && format !== 'parquet')
    throw wrong(`a Parquet file and not ${names[format]}: pass --format parquet, or correct its name`);
  if (format === 'parquet' && kind !== 'Parquet file' && kind !== undefined)
    throw wrong(`not a Parquet file${but}: pass --format csv or jsonl if it is one`);
  return format;
}

const names: Readonly<Record<FileFormat, string>> = { csv: 'CSV', jsonl: 'JSON Lines', parquet: 'Parquet' };

/** The kind of a file; undefined if it cannot be read, which its reader reports. */
function kindOf(path: string) {
  try {
    return fileKind(path);
  } catch {
    return undefined;
  }
}
