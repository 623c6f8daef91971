import type { DuckDBConnection } from '@duckdb/node-api';
import { otherColumns, quoted, whyOtherColumns } from '../rows/index.js';
import { literal } from '../warehouse/index.js';

/** Parquet files of one table. */
export interface ParquetFiles {
  /** Paths or addresses for DuckDB. */
  readonly files: readonly string[];
  /** Name of a file in a message. */
  shown(file: string): string;
  /** Called with the shown name before the columns of a file are read. */
  reading?(file: string): void;
}

/** Returns the query of all rows, in the order of the files. Throws `CsvError` if two files have different columns or types. */
export async function parquetQuery(connection: DuckDBConnection, table: ParquetFiles): Promise<string> {
  const { files, shown, reading } = table;
  const [first] = files as readonly [string, ...string[]];
  let columns: readonly Column[] = [];
  for (const file of files.length === 1 ? [] : files) {
    reading?.(shown(file));
    const found = await columnsOf(connection, file);
    if (file === first) columns = found;
    const why = whyOther(columns, found);
    if (why !== null) throw otherColumns(shown(file), shown(first), why);
  }
  return `SELECT * FROM ${scan(files)}`;
}

const scan = (files: readonly string[]) => `read_parquet([${files.map(literal).join(', ')}])`;

interface Column {
  readonly name: string;
  readonly type: string;
}

async function columnsOf(connection: DuckDBConnection, file: string): Promise<readonly Column[]> {
  const described = await connection.runAndReadAll(`DESCRIBE SELECT * FROM ${scan([file])}`);
  return described.getRowsJson().map(([name, type]) => ({ name: String(name), type: String(type) }));
}

function whyOther(before: readonly Column[], now: readonly Column[]): string | null {
  const names = (columns: readonly Column[]) => columns.map(({ name }) => name);
  const at = now.findIndex(({ type }, index) => type !== before[index]?.type);
  const why = whyOtherColumns(names(before), names(now));
  if (why !== null || at === -1) return why;
  return `${quoted(now[at]?.name ?? '')} is ${now[at]?.type} and not ${before[at]?.type}`;
}
