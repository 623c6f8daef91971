import { type Stats, statSync } from 'node:fs';
import type { DuckDBConnection } from '@duckdb/node-api';
import { CsvError, InputUnsteady, otherColumns, quoted, type RowReader, whyOtherColumns } from '../rows/index.js';
import { columnsOf, literal, plainPath, type TableColumn } from '../warehouse/index.js';
import { duckDbReader, firstLine, resourceError } from './duckdb-reader.js';
import type { SourceRequest } from './source-request.js';

/** Returns a reader of Parquet files of this machine as one table, in this order. All files have the same columns. */
export function parquetReader(request: SourceRequest, files: readonly string[]): RowReader {
  return {
    async open() {
      const before = files.map(stateOf);
      const explain = (error: unknown, file = files[0]) => {
        if (error instanceof CsvError) return error;
        const shown = files.find((path) => String(error).includes(path)) ?? file;
        return (
          resourceError(error) ??
          new CsvError('input-damaged', `${shown} cannot be read as Parquet (${firstLine(error)})`)
        );
      };
      return duckDbReader(request, {
        prepare: (connection) =>
          parquetQuery(connection, new Map(files.map((file) => [plainPath(file), file])), explain),
        explain,
        bytes: before.reduce((sum, { size }) => sum + size, 0),
        end() {
          const changed = files.find((file, index) => !isSame(before[index] as Stats, stateOf(file)));
          if (changed !== undefined)
            throw new InputUnsteady(
              'input-changed',
              `${changed} changed while it was read; try again once it is complete`,
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

/**
 * Returns the query of all rows of Parquet files, in their order. `files`: paths or addresses for DuckDB, with their names for messages.
 * `explain`: returns the error of a file. Throws `CsvError` if two files have different columns or types.
 */
export async function parquetQuery(
  connection: DuckDBConnection,
  files: ReadonlyMap<string, string>,
  explain: (error: unknown, shown: string) => unknown,
): Promise<{ readonly query: string }> {
  const paths = [...files.keys()];
  const [first = ''] = files.values();
  let columns: readonly TableColumn[] | null = null;
  for (const [path, shown] of files.size === 1 ? [] : files) {
    const found = await columnsOf(connection, `SELECT * FROM ${scan([path])}`).catch((error: unknown) => {
      throw explain(error, shown);
    });
    columns ??= found;
    const why = whyOther(columns, found);
    if (why !== null) throw otherColumns(shown, first, why);
  }
  return { query: `SELECT * FROM ${scan(paths)}` };
}

const scan = (files: readonly string[]) => `read_parquet([${files.map(literal).join(', ')}])`;

function whyOther(before: readonly TableColumn[], now: readonly TableColumn[]): string | null {
  const names = (columns: readonly TableColumn[]) => columns.map(({ name }) => name);
  const at = now.findIndex(({ type }, index) => type !== before[index]?.type);
  const why = whyOtherColumns(names(before), names(now));
  if (why !== null || at === -1) return why;
  return `${quoted(now[at]?.name ?? '')} is ${now[at]?.type} and not ${before[at]?.type}`;
}
