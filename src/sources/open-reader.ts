import { type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { isAddress, type SourceFields } from '../core/rows/source-fields.js';
import { isPostgresUrl } from '../postgres/index.js';
import { CsvError, csvFilesReader, csvReader, InputUnsteady, jsonReader, type RowReader } from '../rows/index.js';
import { plainPath } from '../warehouse/index.js';
import { duckDbReader, firstLine, resourceError } from './duckdb-reader.js';
import { formatOfFile } from './file-format.js';
import { listFiles } from './list-files.js';
import { parquetQuery } from './parquet-columns.js';
import { pinnedReader } from './pinned-files.js';
import { postgresReader } from './postgres-reader.js';
import { queryReader } from './query-reader.js';
import { copyingReader, formatOfAddress, remoteParquetReader } from './remote-reader.js';

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
