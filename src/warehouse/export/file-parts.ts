import type { DuckDBConnection } from '@duckdb/node-api';
import { JSON_TYPE, TEXT } from '../../core/rows/column-type.js';
import { duckDbInput, resultSql } from '../rows/duckdb-result-sql.js';
import { type ViewSql, viewQuery } from '../rows/job-view.js';
import { readJob } from '../rows/read-job.js';
import { dollarsOf } from '../rows/row-tables.js';
import { identifier } from '../shared/duckdb-quote.js';
import { memoryFor, portionsOf, ROWS_AT_ONCE, type SourceDuckDb } from './job-rows.js';

export interface TableColumn {
  readonly name: string;
  /** The type in DuckDB, or in the database of a target. */
  readonly type: string;
}

/** A table of the source, in a form that DuckDB can read. */
export interface SourceTable {
  readonly name: string;
  /** Whether a column has integers of more than 64 bits. */
  readonly hasLong: boolean;
  /** SQL queries of the rows, in order; at least one. A query is valid until the next one is read. */
  parts(): AsyncIterable<string>;
}

/**
 * A job as its warehouse has it, see `readJob`. `parts`: queries of all rows with the columns of `row_store`, in order and at least one, in
 * parts that fit into the memory of an export. A query is valid until the next one is read.
 */
export async function readJobRows(source: SourceDuckDb, job: string, shown: string) {
  const record = await source.read((tx) => readJob(tx, job, shown));
  const { where, last, columns } = record;
  await source.need(memoryFor(columns.length));
  return {
    ...record,
    async *parts(): AsyncIterable<string> {
      for (let from = 1; from === 1 || from <= last; from += ROWS_AT_ONCE) {
        const end = from + ROWS_AT_ONCE;
        const portions = await source.read((tx) => portionsOf(tx, where, from, end - 1));
        const firsts = [from, ...portions.slice(1)];
        for (const [nth, first] of firsts.entries())
          yield await source.part(where, first, (firsts[nth + 1] ?? end) - 1);
      }
    },
  };
}

/** The rows of a job that are in the current input, in a form that DuckDB can read, from either kind of warehouse. */
export type JobRows = Awaited<ReturnType<typeof readJobRows>>;

export function jobTable(name: string, rows: JobRows): SourceTable {
  return {
    name,
    hasLong: rows.types?.some((type) => /HUGEINT/.test(type)) ?? false,
    async *parts() {
      for await (const part of rows.parts()) yield viewQuery(ofFiles, undefined, rows, rows.results, `(${part})`).query;
    },
  };
}

export async function columnsOf(connection: DuckDBConnection, query: string): Promise<readonly TableColumn[]> {
  const described = await connection.runAndReadAll(`DESCRIBE ${query}`);
  return described.getRowsJson().map(([name, type]) => ({ name: String(name), type: String(type) }));
}

const LONG = /HUGEINT/;
/** A quoted name, or a type that no Parquet file holds; a name of a part is not quoted, but a space follows it. */
const other = /"(?:[^"]|"")*"|\b(U?HUGEINT|INTERVAL|TIMESTAMP_M?S|TIME WITH TIME ZONE|BIT)(?=[[\],)]|$)|\[\d+\]/g;

/**
 * The type with which a Parquet file holds the values of a type: a decimal for large integers, text for intervals, microseconds for
 * seconds and milliseconds. DuckDB would write doubles, intervals of milliseconds, and lists without a length.
 */
export function fileType(type: string, long: string): string {
  return type.replace(other, (found, name: string | undefined) => {
    if (name === undefined) return found.startsWith('"') ? found : '[]';
    return LONG.test(name) ? long : name.startsWith('TIMESTAMP') ? 'TIMESTAMP' : 'VARCHAR';
  });
}

/** Type of large integers in files: exact for up to 38 digits, and read as a number by every program. */
const DECIMAL = 'DECIMAL(38,0)';

export interface FilePart {
  readonly query: string;
  /** The columns as the source has them, and as the file has them. */
  readonly columns: readonly TableColumn[];
  readonly inFile: readonly TableColumn[];
}

/**
 * The parts of a table with types that Parquet files hold without a loss. Large integers are decimals, or text in a column with 39 digits.
 * `keepsLong`: they are always text, from which the reader makes them again.
 */
export async function* fileParts(
  connection: DuckDBConnection,
  { hasLong, parts }: SourceTable,
  keepsLong: boolean,
): AsyncIterable<FilePart> {
  const longest = hasLong && !keepsLong ? await withLongest(connection, parts) : [];
  let columns: readonly TableColumn[] | null = null;
  for await (const part of parts()) {
    columns ??= await columnsOf(connection, part);
    const inFile = columns.map(({ name, type }) => ({
      name,
      type: fileType(type, keepsLong || longest.includes(name) ? 'VARCHAR' : DECIMAL),
    }));
    yield { query: selectAs(part, columns, inFile), columns, inFile };
  }
}

/** Names of the columns with integers of 39 digits. */
async function withLongest(connection: DuckDBConnection, parts: SourceTable['parts']): Promise<readonly string[]> {
  const found = new Set<string>();
  for await (const part of parts()) {
    const long = (await columnsOf(connection, part)).filter(({ type }) => LONG.test(type));
    const differs = long.map(({ name, type }) => {
      const column = identifier(name);
      const decimal = `TRY_CAST(${column} AS ${fileType(type, DECIMAL)})`;
      return `coalesce(bool_or(TRY_CAST(${decimal} AS ${type}) IS DISTINCT FROM ${column}), false)`;
    });
    const [row = []] = (await connection.runAndReadAll(`SELECT ${differs.join(', ')} FROM (${part})`)).getRows();
    for (const [index, { name }] of long.entries()) if (row[index] === true) found.add(name);
  }
  return [...found];
}

export function selectAs(query: string, from: readonly TableColumn[], to: readonly TableColumn[]): string {
  const casts = to.flatMap(({ name, type }, index) =>
    type === from[index]?.type ? [] : [`CAST(${identifier(name)} AS ${type}) AS ${identifier(name)}`],
  );
  return casts.length === 0 ? query : `SELECT * REPLACE (${casts.join(', ')}) FROM (${query})`;
}

/** DuckDB's SQL for the files of a job, from a part of its rows. JSON columns are text here, because every reader supports text. */
const ofFiles: ViewSql = {
  ...{ prefix: '', maxColumns: Number.POSITIVE_INFINITY, cut: (name, suffix) => `${name}${suffix}` },
  cell: (index, type) => duckDbInput(index, type === JSON_TYPE ? TEXT : type),
  read(part, values) {
    const { inner, shown } = resultSql(values, true);
    const columns = ['*', `${dollarsOf('cost_micros')} AS cost_dollars`, ...inner].join(', ');
    return { from: `(SELECT ${columns} FROM ${part} ORDER BY row_number)`, shown };
  },
};
