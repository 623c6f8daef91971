import { type Stats, statSync } from 'node:fs';
import type { DuckDBConnection } from '@duckdb/node-api';
import { CsvError, InputUnsteady, quoted, type RowReader, whyOtherColumns } from '../rows/index.js';
import { literal, plainPath } from '../warehouse/index.js';
import { duckDbReader, firstLine, resourceError } from './duckdb-reader.js';

/**
 * Returns a reader of Parquet files as one table, in this order. All files have the same columns. `temporary`, `limitMs`: see `DuckDbRows`.
 */
export function parquetReader(
  files: readonly string[],
  { temporary, limitMs }: { readonly temporary: string; readonly limitMs: number },
): RowReader {
  return {
    async open(signal) {
      const before = files.map(stateOf);
      let current = files[0] as string;
      return duckDbReader({
        temporary,
        limitMs,
        async prepare(connection) {
          const [first] = files as readonly [string, ...string[]];
          const columns = await columnsOf(connection, first);
          for (const file of files.slice(1)) {
            current = file;
            const why = whyOther(columns, await columnsOf(connection, file));
            if (why !== null)
              throw new CsvError(
                `${file} has other columns than ${first}: ${why}. All files of one input need the same columns`,
              );
          }
          return `SELECT * FROM ${parquet(files)}`;
        },
        explain: (error) => {
          if (error instanceof CsvError || (error as Error).name === 'AbortError') return error;
          const shown = files.find((file) => String(error).includes(file)) ?? current;
          return (
            resourceError(error, temporary) ?? new CsvError(`${shown} cannot be read as Parquet (${firstLine(error)})`)
          );
        },
        bytes: before.reduce((sum, { size }) => sum + size, 0),
        notes: () => [],
        end: async () => {
          for (const [index, file] of files.entries())
            if (!isSame(before[index] as Stats, stateOf(file)))
              throw new InputUnsteady(`${file} changed while it was read; try again once it is complete`);
        },
      }).open(signal);
    },
  };
}

const parquet = (files: readonly string[]) =>
  `read_parquet([${files.map((file) => literal(plainPath(file))).join(', ')}])`;

interface Column {
  readonly name: string;
  readonly type: string;
}

async function columnsOf(connection: DuckDBConnection, file: string): Promise<readonly Column[]> {
  const described = await connection.runAndReadAll(`DESCRIBE SELECT * FROM ${parquet([file])}`);
  return described.getRowsJson().map(([name, type]) => ({ name: String(name), type: String(type) }));
}

function whyOther(before: readonly Column[], now: readonly Column[]): string | null {
  const names = (columns: readonly Column[]) => columns.map(({ name }) => name);
  const at = now.findIndex(({ type }, index) => type !== before[index]?.type);
  const why = whyOtherColumns(names(before), names(now));
  if (why !== null || at === -1) return why;
  return `${quoted(now[at]?.name ?? '')} is ${now[at]?.type} and not ${before[at]?.type}`;
}

function stateOf(path: string): Stats {
  const there = statSync(path, { throwIfNoEntry: false });
  if (there === undefined) throw new CsvError(`${path} does not exist`);
  return there;
}

const isSame = (before: Stats, after: Stats) =>
  after.size === before.size && after.mtimeMs === before.mtimeMs && after.ino === before.ino;
