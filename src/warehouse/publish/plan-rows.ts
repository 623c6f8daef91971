import type { PublishRecord, PublishRequest } from '../../core/publish/publish-request.js';
import { WarehouseUnusable } from '../../core/rows/row-warehouse.js';
import { contentOf, whyOtherColumns } from './plan-table.js';
import type { StagedTable, TableColumn } from './stage-tables.js';

/** Table of a target database that records each publish of each table. */
export const PUBLISHES = 'searchflow_publishes';

/** The columns of {@link PUBLISHES}, with types that DuckDB and PostgreSQL know. */
export const publishesColumns = [
  ...['table_name text NOT NULL', 'publish text NOT NULL', 'source text NOT NULL', 'run text NOT NULL'],
  ...['published_at timestamp NOT NULL', 'mode text NOT NULL', 'key_columns text NOT NULL'],
  ...['published_rows bigint NOT NULL', 'total_rows bigint NOT NULL', 'content text NOT NULL'],
].join(', ');

/** The latest publish of a table. */
export interface LatestPublish {
  readonly publish: string;
  readonly source: string;
  readonly run: string;
  readonly mode: string;
  readonly content: string;
}

/** A table as the target database has it. */
export interface TargetTable {
  /** Null: no publish of this table is recorded. */
  readonly latest: LatestPublish | null;
  /** Null: there is no table of this name. */
  readonly columns: readonly TableColumn[] | null;
}

/**
 * Whether the table is created again; otherwise its rows change. Throws `WarehouseUnusable`, before anything is written, if present and new
 * rows do not fit together. `columns`: the new columns, with the types of the target.
 */
export function isRecreated(
  { latest, columns: before }: TargetTable,
  { name, columns }: Pick<StagedTable, 'name' | 'columns'>,
  { mode }: Pick<PublishRequest, 'mode'>,
  { shown, source }: { readonly shown: string; readonly source: string },
): boolean {
  if (before === null) return true;
  const where = `The table ${name} in ${shown}`;
  if (latest === null)
    throw new WarehouseUnusable(
      'publish-target-taken',
      `${where} is not of a publish: rename it, or name another target`,
    );
  if (latest.source !== source)
    throw new WarehouseUnusable(
      'publish-target-taken',
      `${where} has the rows of ${latest.source}, not of ${source}: name another target`,
    );
  const different = whyOtherColumns(before, columns);
  if (different === null || mode === 'replace') return different !== null;
  throw new WarehouseUnusable(
    'publish-columns-differ',
    `${where} has other columns (${different}): replace it as a whole (--mode replace)`,
  );
}

/** Whether the latest publish of a table has appended the same rows of the same run: its answer may have been lost. */
export function isAppended(
  latest: Omit<LatestPublish, 'publish'> | null,
  table: StagedTable,
  source: string,
  run: string,
): boolean {
  if (latest?.mode !== 'append') return false;
  return latest.source === source && latest.run === run && latest.content === contentOf(table);
}

/** The values of {@link publishesColumns} for one table, as texts. */
export function publishValues(
  name: string,
  { source, total, content, rows }: { source: string; total: number; content: string; rows: number },
  { id, run, at, mode }: PublishRecord,
  key: readonly string[],
): readonly string[] {
  const time = at.replace('T', ' ').replace('Z', '');
  return [name, id, source, run, time, mode, JSON.stringify(key), String(rows), String(total), content];
}

/** Partitions are folders, and databases have none. */
export function refusePartition({ partition }: Pick<PublishRequest, 'partition'>): void {
  if (partition !== null)
    throw new WarehouseUnusable('option-unusable', '--partition is only for targets with files: leave it out');
}
