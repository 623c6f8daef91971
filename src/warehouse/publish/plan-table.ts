import type { PublishMode } from '../../core/publish-request.js';
import { WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import type { TableColumn } from '../export/file-parts.js';
import { contentOf, type StagedTable } from './stage-tables.js';

/** The latest publish of a table, as its target records it. */
export interface LatestPublish {
  readonly source: string;
  readonly run: string;
  readonly mode: string;
  readonly content: string;
}

/** How the columns of a table change: `other` if some are gone or have other types, which only a new table can hold. */
export interface ColumnChange {
  readonly other: boolean;
  readonly added: readonly TableColumn[];
}

/**
 * Compares the present columns of a table with the new ones of `source`. `shown`: the target, for messages. Throws `WarehouseUnusable`, before
 * anything is written, if the table is of another source, or does not fit rows that are added to it (all modes but `replace`).
 */
export function columnChange(
  before: { readonly source: string; readonly columns: readonly TableColumn[] },
  { name, columns }: Pick<StagedTable, 'name' | 'columns'>,
  { shown, source, mode }: { readonly shown: string; readonly source: string; readonly mode: PublishMode },
): ColumnChange {
  const where = `The table ${name} in ${shown}`;
  if (before.source !== source)
    throw new WarehouseUnusable(
      'publish-target-taken',
      `${where} has the rows of ${before.source}, not of ${source}: name another target`,
    );
  const missing = (some: readonly TableColumn[], others: readonly TableColumn[]) =>
    some.filter((column) => !others.some((other) => other.name === column.name));
  const changed = columns.flatMap(({ name: column, type }) => {
    const old = before.columns.find((other) => other.name === column);
    return old && old.type !== type ? [`${column} is ${old.type}, now ${type}`] : [];
  });
  const gone = missing(before.columns, columns).map((column) => `${column.name} is gone`);
  const added = missing(columns, before.columns);
  const other = gone.length + changed.length > 0;
  if (!other || mode === 'replace') return { other, added };
  const words = [...gone, ...added.map((column) => `${column.name} is new`), ...changed];
  const some = words.length > 3 ? `${words.slice(0, 3).join(', ')} and ${words.length - 3} more` : words.join(', ');
  throw new WarehouseUnusable(
    'publish-columns-differ',
    `${where} has other columns (${some}): replace it as a whole (--mode replace)`,
  );
}

/** Whether the latest publish of a table has appended the same rows of the same run: its answer may have been lost. */
export function isAppended(
  latest: LatestPublish | null,
  table: Pick<StagedTable, 'columns' | 'files'>,
  source: string,
  run: string,
): boolean {
  if (latest?.mode !== 'append') return false;
  return latest.source === source && latest.run === run && latest.content === contentOf(table);
}
