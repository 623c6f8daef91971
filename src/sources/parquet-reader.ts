import { type Stats, statSync } from 'node:fs';
import { CsvError, InputUnsteady, type RowReader } from '../rows/index.js';
import { plainPath } from '../warehouse/index.js';
import { duckDbReader, firstLine, resourceError } from './duckdb-reader.js';
import { parquetQuery } from './parquet-columns.js';

/**
 * Returns a reader of Parquet files as one table, in this order. All files have the same columns. `temporary`, `limitMs`: see `DuckDbRows`.
 */
export function parquetReader(
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
