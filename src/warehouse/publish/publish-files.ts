import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { PublishRequest } from '../../core/publish-request.js';
import { WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import { copyToParquet } from '../export/export-parquet.js';
import type { TableColumn } from '../export/file-parts.js';
import { identifier } from '../shared/duckdb-quote.js';
import type { TargetFiles } from './folder-files.js';
import {
  dataPath,
  type Manifest,
  type ManifestFile,
  type ManifestTable,
  manifestText,
  partitionOf,
} from './manifest.js';
import { columnChange, isAppended } from './publish-sql.js';
import {
  contentOf,
  type Drafted,
  type DraftFile,
  draftFile,
  draftsOf,
  parquetFiles,
  type StagedTable,
  sameKey,
  sides,
} from './stage-tables.js';

/** How one table of a target changes. */
export interface TablePlan {
  /** Files of the present state that stay, or that are written again. */
  readonly kept: readonly ManifestFile[];
  /** Whether rows of `kept` with the keys of new rows are removed. */
  readonly merges: boolean;
  readonly added: readonly TableColumn[];
}

/**
 * Removes files that the manifest does not name, writes data files under new names, and then replaces the manifest in one step. An interrupted
 * publish leaves the old manifest, whose files are unchanged. Returns the tables as the manifest has them, or null if nothing had to be written.
 */
export async function publishFiles(
  files: TargetFiles,
  before: Manifest | null,
  drafted: Drafted,
): Promise<readonly ManifestTable[] | null> {
  const { source, tables: staged, request, record } = drafted;
  const tables = before?.tables ?? [];
  await files.clean(new Set(tables.flatMap((table) => table.files.map(({ path }) => path))));
  const named = (name: string) => tables.find((table) => table.name === name);
  const partition = partitionOf(request.partition, record);
  const isSame = (table: StagedTable) => {
    const known = named(table.name);
    return (
      isAppended(known ?? null, table, source, record.run) &&
      known?.files.some((file) => file.publish === known.publish && file.partition === partition)
    );
  };
  if (request.mode === 'append' && staged.every(isSame)) return null;
  const at = { shown: files.shown, source };
  const plans = staged.map((table) => planTable(named(table.name), table, request, partition, at));
  for (const { kept } of plans) await checkFiles(files, kept);
  const changed: ManifestTable[] = [];
  for (const [index, table] of staged.entries()) {
    let number = 0;
    const write: WriteFile = async ({ path: draft, ...facts }, within, run = record.run) => {
      const path = dataPath(table.name, within, record.id, number++);
      await files.put(draft, path);
      return { path, ...facts, partition: within, run, publish: record.id };
    };
    const remaining = await keptFiles(files, drafted, table, plans[index] as TablePlan, write);
    // A file without rows is needed only if the table has no other file.
    const added = table.files.filter(({ rows }) => rows > 0 || remaining.length === 0);
    const fresh: ManifestFile[] = [];
    for (const draft of added) fresh.push(await write(draft, partition));
    const all = [...remaining, ...fresh];
    changed.push({
      ...{ name: table.name, source, columns: table.columns },
      ...{ rows: all.reduce((sum, { rows }) => sum + rows, 0), partitionBy: request.partition, files: all },
      ...{ publish: record.id, at: record.at, run: record.run, mode: record.mode, key: request.key },
      content: contentOf(table),
    });
  }
  const others = tables.filter(({ name }) => !changed.some((table) => table.name === name));
  await files.putManifest(manifestText(record, [...others, ...changed]));
  return changed;
}

/**
 * Decides how a table of a target changes. With a partition, `replace` replaces only the files of this run or day. Throws
 * `WarehouseUnusable`, before anything is written, if present and new rows do not fit together.
 */
export function planTable(
  before: ManifestTable | undefined,
  staged: Pick<StagedTable, 'name' | 'columns'>,
  { mode, partition: by }: Pick<PublishRequest, 'mode' | 'partition'>,
  partition: string | null,
  at: { readonly shown: string; readonly source: string },
): TablePlan {
  const none = { kept: [], merges: false, added: [] };
  if (before === undefined) return none;
  const files = mode !== 'replace' || by !== null ? before.files : [];
  // An empty file holds the columns of an empty table.
  const kept = files.filter((file) => file.rows > 0 && (mode !== 'replace' || file.partition !== partition));
  const { added } = columnChange(before, staged, { ...at, mode: kept.length > 0 ? 'append' : 'replace' });
  if (kept.length === 0) return none;
  if (before.partitionBy !== by) {
    const is = before.partitionBy === null ? 'has no partitions' : `is partitioned by ${before.partitionBy}`;
    const way = before.partitionBy === null ? 'publish without --partition' : `pass --partition ${before.partitionBy}`;
    throw new WarehouseUnusable(
      'publish-columns-differ',
      `The table ${staged.name} in ${at.shown} ${is}: ${way}, or replace it as a whole (--mode replace, no --partition)`,
    );
  }
  return { kept, merges: mode === 'merge', added };
}

/** Throws if a file that stays is missing or cut. */
async function checkFiles(files: TargetFiles, kept: readonly ManifestFile[]): Promise<void> {
  for (const { path, bytes } of kept) {
    const size = await files.size(path);
    if (size !== bytes)
      throw new WarehouseUnusable(
        'publish-target-damaged',
        `${files.shown}/${path} is ${size === null ? 'missing' : 'damaged'}: restore it, or replace the table as a whole (--mode replace)`,
      );
  }
}

type WriteFile = (draft: DraftFile, partition: string | null, run?: string) => Promise<ManifestFile>;

/**
 * Files of the present state in the new one. A file with rows that a merge replaces is written again without them. All files are written again
 * with an added column, because many readers take the columns of the first file.
 */
async function keptFiles(
  files: TargetFiles,
  { request: { key }, connection, drafts }: Drafted,
  table: StagedTable,
  { kept, merges, added }: TablePlan,
  write: WriteFile,
): Promise<readonly ManifestFile[]> {
  if (!merges && added.length === 0) return kept;
  const remaining: ManifestFile[] = [];
  const names = sides(table.columns);
  const columns = table.columns.map(({ name, type }) => {
    const isNew = added.some((column) => column.name === name);
    return isNew ? `CAST(NULL AS ${type}) AS ${identifier(name)}` : `${names.old}.${identifier(name)}`;
  });
  const others = merges ? ` ANTI JOIN ${draftsOf(table)} ${names.fresh} ON ${sameKey(key, names)}` : '';
  const alias = join(drafts, 'kept.parquet');
  for (const file of kept) {
    const opened = await files.open(file.path, alias);
    const rest = `SELECT ${columns.join(', ')} FROM ${parquetFiles([opened])} ${names.old}${others}`;
    const counted = await connection.runAndReadAll(`SELECT count(*) FROM (${rest})`);
    const rows = Number(counted.getRows()[0]?.[0]);
    if (rows === file.rows && added.length === 0) remaining.push(file);
    else if (rows > 0) {
      const draft = join(drafts, `kept-${remaining.length}.parquet`);
      await copyToParquet(connection, rest, draft);
      remaining.push(await write(await draftFile(draft, rows), file.partition, file.run));
    }
    await rm(alias, { force: true });
  }
  return remaining;
}
