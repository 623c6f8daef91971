import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { PublishRecord, PublishRequest } from '../../core/publish/publish-request.js';
import { WarehouseUnusable } from '../../core/rows/row-warehouse.js';
import { copyToParquet } from '../export/export-parquet.js';
import type { TargetFiles } from './folder-files.js';
import {
  dataPath,
  type Manifest,
  type ManifestFile,
  type ManifestTable,
  manifestOf,
  manifestText,
  parseManifest,
  partitionOf,
} from './manifest.js';
import { checkUnique, parquetFiles, sameKey } from './merge-rows.js';
import { isAppended } from './plan-rows.js';
import { contentOf, planTable } from './plan-table.js';
import { type DraftFile, draftFile, type Staged, type StagedTable } from './stage-tables.js';

/** A publish into files, from its drafts on. */
export interface FilePublish {
  readonly files: TargetFiles;
  readonly before: Manifest | null;
  readonly staged: Staged;
  readonly request: PublishRequest;
  readonly record: PublishRecord;
  /** A DuckDB that can read the files of the target. */
  readonly connection: DuckDBConnection;
  /** Folder for the drafts of merged files. */
  readonly drafts: string;
}

/** Reads the manifest of a target, and removes files that it does not name. */
export async function openFiles(files: TargetFiles): Promise<Manifest | null> {
  const text = await files.manifest();
  const before = text === null ? null : parseManifest(text, files.shown);
  await files.clean(new Set(before?.tables.flatMap((table) => table.files.map(({ path }) => path))));
  return before;
}

/**
 * Writes data files under new names, and then replaces the manifest in one step. A publish that is interrupted leaves the old manifest,
 * whose files are unchanged. Returns the tables as the manifest has them, or null if nothing had to be written.
 */
export async function publishFiles(publish: FilePublish): Promise<readonly ManifestTable[] | null> {
  const { files, before, staged, request, record } = publish;
  const tables = before?.tables ?? [];
  const named = (name: string) => tables.find((table) => table.name === name);
  const partition = partitionOf(request.partition, record);
  const isSame = (table: StagedTable) => {
    const known = named(table.name);
    return (
      isAppended(known ?? null, table, staged.source, record.run) &&
      known?.files.some((file) => file.publish === known.publish && file.partition === partition)
    );
  };
  if (request.mode === 'append' && staged.tables.every(isSame)) return null;
  if (request.mode === 'merge')
    for (const table of staged.tables) await checkUnique(publish.connection, table, request.key);
  const at = { shown: files.shown, source: staged.source, partition };
  const plans = staged.tables.map((table) => ({ table, ...planTable(named(table.name), table, request, at) }));
  for (const { kept } of plans) await checkFiles(files, kept);
  const changed: ManifestTable[] = [];
  for (const { table, kept, merges } of plans) {
    const writer = new TableWriter(publish, table.name);
    const remaining = merges ? await withoutKeys(publish, table, kept, writer) : kept;
    // A file without rows is needed only if the table has no other file.
    const added = table.files.filter(({ rows }) => rows > 0 || remaining.length === 0);
    const fresh: ManifestFile[] = [];
    for (const draft of added) fresh.push(await writer.put(draft, partition));
    const all = [...remaining, ...fresh];
    changed.push({
      ...{ name: table.name, source: staged.source, columns: table.columns },
      ...{ rows: all.reduce((sum, { rows }) => sum + rows, 0), partitionBy: request.partition, files: all },
      ...{ publish: record.id, at: record.at, run: record.run, mode: record.mode, key: request.key },
      content: contentOf(table),
    });
  }
  const others = tables.filter(({ name }) => !changed.some((table) => table.name === name));
  await files.putManifest(manifestText(manifestOf(record, [...others, ...changed])));
  return changed;
}

/** Throws if a file that stays is missing or cut. */
async function checkFiles(files: TargetFiles, kept: readonly ManifestFile[]): Promise<void> {
  for (const { path, bytes } of kept) {
    const size = await files.size(path);
    if (size !== bytes)
      throw new WarehouseUnusable(
        'publish-target-damaged',
        `${files.pathOf(path)} is ${size === null ? 'missing' : 'damaged'}: restore it, or replace the table as a whole (--mode replace)`,
      );
  }
}

/** Writes files with rows of one table. */
class TableWriter {
  readonly #publish: FilePublish;
  readonly #table: string;
  #number = 0;

  constructor(publish: FilePublish, table: string) {
    this.#publish = publish;
    this.#table = table;
  }

  async put(
    { path: draft, rows, bytes, sha256 }: DraftFile,
    partition: string | null,
    run = this.#publish.record.run,
  ): Promise<ManifestFile> {
    const { files, record } = this.#publish;
    const path = dataPath(this.#table, partition, record.id, this.#number++);
    await files.put(draft, path);
    return { path, rows, bytes, sha256, partition, run, publish: record.id };
  }
}

/** Removes the rows with keys of new rows: a file with such rows is written again without them, and any other file stays. */
async function withoutKeys(
  { files, request: { key }, connection, drafts }: FilePublish,
  table: StagedTable,
  kept: readonly ManifestFile[],
  writer: TableWriter,
): Promise<readonly ManifestFile[]> {
  const remaining: ManifestFile[] = [];
  const fresh = parquetFiles(table.files.map(({ path }) => path));
  for (const file of kept) {
    const old = `${parquetFiles([files.pathOf(file.path)])} old`;
    const rest = `SELECT old.* FROM ${old} ANTI JOIN ${fresh} new ON ${sameKey(key)}`;
    const counted = await connection.runAndReadAll(`SELECT count(*) FROM (${rest})`);
    const rows = Number(counted.getRows()[0]?.[0]);
    if (rows === file.rows) remaining.push(file);
    else if (rows > 0) {
      const draft = join(drafts, `merged-${remaining.length}.parquet`);
      await copyToParquet(connection, rest, draft);
      remaining.push(await writer.put(await draftFile(draft, rows), file.partition, file.run));
    }
  }
  return remaining;
}
