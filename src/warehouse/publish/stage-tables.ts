import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { PublishRecord, PublishRequest } from '../../core/publish-request.js';
import { WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import { copyToParquet } from '../export/export-parquet.js';
import { fileParts, type SourceTable, type TableColumn } from '../export/file-parts.js';
import { identifier, literal, plainPath } from '../shared/duckdb-quote.js';

export interface DraftFile {
  readonly path: string;
  readonly rows: number;
  readonly bytes: number;
  readonly sha256: string;
}

/** A table of the source, copied into Parquet files. A table without rows has one file, because readers need its columns. */
export interface StagedTable {
  readonly name: string;
  /** The columns of the files, and the same columns with the types of the source. */
  readonly columns: readonly TableColumn[];
  readonly exact: readonly TableColumn[];
  readonly rows: number;
  readonly files: readonly DraftFile[];
}

export interface Drafted {
  /** Name of the source in a target: two sources never share a table. */
  readonly source: string;
  readonly tables: readonly StagedTable[];
  readonly request: PublishRequest;
  readonly record: PublishRecord;
  readonly connection: DuckDBConnection;
  readonly drafts: string;
}

/** Copies tables into Parquet files in a folder, which is emptied first. `keepsLong`: see `fileParts`. */
export async function stageTables(
  connection: DuckDBConnection,
  sources: readonly SourceTable[],
  folder: string,
  keepsLong: boolean,
): Promise<readonly StagedTable[]> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { mode: 0o700 });
  const tables: StagedTable[] = [];
  for (const [index, table] of sources.entries()) {
    let [columns, exact]: (readonly TableColumn[])[] = [[], []];
    const files: DraftFile[] = [];
    for await (const part of fileParts(connection, table, keepsLong)) {
      [columns, exact] = [part.inFile, part.columns];
      const path = join(folder, `${index}-${files.length}.parquet`);
      const rows = await copyToParquet(connection, part.query, path);
      if (rows === 0 && files.length > 0) await rm(path);
      else files.push(await draftFile(path, rows));
    }
    const rows = files.reduce((sum, file) => sum + file.rows, 0);
    tables.push({ name: table.name, columns: columns ?? [], exact: exact ?? [], rows, files });
  }
  return tables;
}

export async function draftFile(path: string, rows: number): Promise<DraftFile> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) {
    hash.update(chunk as Buffer);
    bytes += (chunk as Buffer).length;
  }
  return { path, rows, bytes, sha256: hash.digest('hex') };
}

/** Hash of the columns and rows of a table. Equal rows in equal order have equal Parquet files. */
export function contentOf({ columns, files }: Pick<StagedTable, 'columns' | 'files'>): string {
  const hash = createHash('sha256').update(JSON.stringify(columns));
  for (const { sha256 } of files) hash.update(sha256);
  return hash.digest('hex');
}

export const parquetFiles = (paths: readonly string[]): string =>
  `read_parquet([${paths.map((path) => literal(plainPath(path))).join(', ')}], hive_partitioning = false)`;

export const draftsOf = ({ files }: StagedTable): string => parquetFiles(files.map(({ path }) => path));

/** Names of the present and the new rows in a statement. DuckDB would take the name of a struct column for the column. */
export function sides(columns: readonly TableColumn[]): { readonly old: string; readonly fresh: string } {
  const taken = new Set(columns.map(({ name }) => name.toLowerCase()));
  let [old, fresh] = ['old', 'new'];
  while (taken.has(old) || taken.has(fresh)) [old, fresh] = [`${old}_`, `${fresh}_`];
  return { old, fresh };
}

/** Condition: a row of `old` and a row of `fresh` have the same key. */
export const sameKey = (key: readonly string[], { old, fresh }: ReturnType<typeof sides>): string =>
  key.map((column) => `${old}.${identifier(column)} = ${fresh}.${identifier(column)}`).join(' AND ');

/** Throws `WarehouseUnusable` if a column of the key is missing, or the key does not identify the new rows. */
export async function checkUnique(
  connection: DuckDBConnection,
  table: StagedTable,
  key: readonly string[],
): Promise<void> {
  const refuse = (why: string) => new WarehouseUnusable('publish-key-invalid', `--key: ${why}`);
  const { name } = table;
  const names = table.columns.map((column) => column.name);
  const missing = key.find((column) => !names.includes(column));
  if (missing !== undefined) throw refuse(`${name} has no column ${missing}. Its columns: ${names.join(', ')}`);
  const empty = key.map((column) => `${identifier(column)} IS NULL`).join(' OR ');
  const reader = await connection.runAndReadAll(
    `SELECT (SELECT count(*) FROM ${draftsOf(table)} WHERE ${empty}),
       (SELECT count(*) FROM (SELECT 1 FROM ${draftsOf(table)} GROUP BY ${key.map(identifier).join(', ')} HAVING count(*) > 1))`,
  );
  const [nulls, repeated] = (reader.getRows()[0] ?? []).map(Number);
  const shown = key.join(', ');
  if (nulls) throw refuse(`${nulls} rows of ${name} have no ${shown}: name columns without NULL`);
  if (repeated)
    throw refuse(
      `${repeated} values of ${shown} are in more than one row of ${name}: name columns that identify a row`,
    );
}
