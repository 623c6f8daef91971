import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { copyToParquet } from '../export/export-parquet.js';
import type { SourceReader } from './job-table.js';

export interface TableColumn {
  readonly name: string;
  /** The type in DuckDB. */
  readonly type: string;
}

/** A Parquet file in the folder of drafts. */
export interface DraftFile {
  readonly path: string;
  readonly rows: number;
  readonly bytes: number;
  readonly sha256: string;
}

/** A table of the source, copied into Parquet files. A table without rows has one file, because readers need its columns. */
export interface StagedTable {
  readonly name: string;
  readonly columns: readonly TableColumn[];
  readonly rows: number;
  readonly files: readonly DraftFile[];
}

export interface Staged {
  readonly source: string;
  readonly run: string | null;
  readonly tables: readonly StagedTable[];
}

/** Copies all tables of the source into Parquet files in a folder, which is emptied first. */
export async function stageTables(reader: SourceReader, folder: string): Promise<Staged> {
  const { connection, source, run } = reader;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { mode: 0o700 });
  const tables: StagedTable[] = [];
  for (const [index, { name, memory, parts }] of reader.tables.entries()) {
    await reader.need(memory);
    let columns: readonly TableColumn[] | null = null;
    const files: DraftFile[] = [];
    for await (const query of parts()) {
      columns ??= await columnsOf(connection, query);
      const path = join(folder, `${index}-${files.length}.parquet`);
      const rows = await copyToParquet(connection, query, path);
      if (rows === 0 && files.length > 0) await rm(path);
      else files.push(await draftFile(path, rows));
    }
    tables.push({ name, columns: columns ?? [], rows: files.reduce((sum, { rows }) => sum + rows, 0), files });
  }
  return { source, run, tables };
}

/** The columns of a query, with their types in DuckDB. */
export async function columnsOf(connection: DuckDBConnection, query: string): Promise<readonly TableColumn[]> {
  const described = await connection.runAndReadAll(`DESCRIBE ${query}`);
  return described.getRowsJson().map(([name, type]) => ({ name: String(name), type: String(type) }));
}

/** Size and hash of a finished file. */
export async function draftFile(path: string, rows: number): Promise<DraftFile> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) {
    hash.update(chunk as Buffer);
    bytes += (chunk as Buffer).length;
  }
  return { path, rows, bytes, sha256: hash.digest('hex') };
}
