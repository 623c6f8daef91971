import { createHash } from 'node:crypto';
import type { PublishRequest } from '../../core/publish/publish-request.js';
import { WarehouseUnusable } from '../../core/rows/row-warehouse.js';
import type { ManifestFile, ManifestTable } from './manifest.js';
import type { StagedTable, TableColumn } from './stage-tables.js';

/** How one table of a target changes. */
export interface TablePlan {
  /** Files of the present state that stay, or that a merge reads. */
  readonly kept: readonly ManifestFile[];
  /** Whether rows of `kept` with the keys of new rows are removed. */
  readonly merges: boolean;
}

/**
 * Decides how a table of a target changes. With `partition`, `replace` replaces only the partition of this run or day. Throws
 * `WarehouseUnusable`, before anything is written, if present and new rows do not fit together. `shown`: the target.
 */
export function planTable(
  before: ManifestTable | undefined,
  staged: StagedTable,
  { mode, partition }: Pick<PublishRequest, 'mode' | 'partition'>,
  at: { readonly shown: string; readonly source: string; readonly partition: string | null },
): TablePlan {
  if (before === undefined) return { kept: [], merges: false };
  const where = `The table ${staged.name} in ${at.shown}`;
  if (before.source !== at.source)
    throw new WarehouseUnusable(
      'publish-target-taken',
      `${where} has the rows of ${before.source}, not of ${at.source}: name another target`,
    );
  const kept =
    mode !== 'replace'
      ? before.files
      : partition === null
        ? []
        : before.files.filter((file) => file.partition !== at.partition);
  // An empty file holds the columns of an empty table.
  const filled = kept.filter(({ rows }) => rows > 0);
  if (filled.length === 0) return { kept: [], merges: false };
  if (before.partitionBy !== partition) {
    const by = before.partitionBy === null ? 'has no partitions' : `is partitioned by ${before.partitionBy}`;
    const way = before.partitionBy === null ? 'publish without --partition' : `pass --partition ${before.partitionBy}`;
    throw new WarehouseUnusable(
      'publish-columns-differ',
      `${where} ${by}: ${way}, or replace it as a whole (--mode replace, no --partition)`,
    );
  }
  const different = whyOtherColumns(before.columns, staged.columns);
  if (different !== null)
    throw new WarehouseUnusable(
      'publish-columns-differ',
      `${where} has other columns (${different}): replace it as a whole (--mode replace)`,
    );
  return { kept: filled, merges: mode === 'merge' };
}

/** Throws if a column of the key is missing. */
export function checkKey({ name, columns }: Pick<StagedTable, 'name' | 'columns'>, key: readonly string[]): void {
  const missing = key.find((column) => !columns.some((one) => one.name === column));
  if (missing !== undefined)
    throw new WarehouseUnusable(
      'publish-key-invalid',
      `--key: ${name} has no column ${missing}. Its columns: ${columns.map((column) => column.name).join(', ')}`,
    );
}

/** The first differences between the columns of a target and new columns; null if they are equal. */
export function whyOtherColumns(before: readonly TableColumn[], now: readonly TableColumn[]): string | null {
  const differing = (some: readonly TableColumn[], others: readonly TableColumn[]) =>
    some.filter(({ name }) => !others.some((other) => other.name === name)).map(({ name }) => name);
  const changed = now.flatMap(({ name, type }) => {
    const old = before.find((column) => column.name === name);
    return old && old.type !== type ? [`${name} is ${old.type}, now ${type}`] : [];
  });
  const words = [
    ...differing(before, now).map((name) => `${name} is gone`),
    ...differing(now, before).map((name) => `${name} is new`),
    ...changed,
  ];
  if (words.length === 0) return null;
  return words.length > 3 ? `${words.slice(0, 3).join(', ')} and ${words.length - 3} more` : words.join(', ');
}

/** Hash of the columns and rows of a table. Equal rows in equal order have equal Parquet files. */
export function contentOf({ columns, files }: StagedTable): string {
  const hash = createHash('sha256').update(JSON.stringify(columns));
  for (const { sha256 } of files) hash.update(sha256);
  return hash.digest('hex');
}
