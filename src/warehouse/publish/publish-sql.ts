import type { PublishMode } from '../../core/choices.js';
import type { PublishRequest } from '../../core/publish-request.js';
import { WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import type { TableColumn } from '../export/file-parts.js';
import { identifier } from '../shared/duckdb-quote.js';
import { contentOf, type Drafted, type StagedTable, sameKey, sides } from './stage-tables.js';

/** Table of a target database that records each publish of each table. */
const PUBLISHES = 'searchflow_publishes';
/** Temporary table with the rows of a merge. */
const NEW = 'searchflow_new';

/** A table as a target database names and types it. The columns have the order of the staged ones. */
export interface TargetTable {
  readonly staged: StagedTable;
  readonly name: string;
  readonly columns: readonly TableColumn[];
}

/** A transaction of a database. Its statements are those that DuckDB and PostgreSQL have in common. */
export interface SqlTarget {
  /** The target, for messages. */
  readonly shown: string;
  query(sql: string, values?: readonly string[]): Promise<readonly Record<string, unknown>[]>;
  /** The full name of a table, quoted. */
  within(name: string): string;
  columnsOf(name: string): Promise<readonly TableColumn[] | null>;
  /** Adds the staged rows to a table of that full name. */
  add(table: TargetTable, to: string): Promise<void>;
}

export interface TableRows {
  readonly name: string;
  readonly rows: number;
}

interface Change extends ColumnChange {
  readonly table: TargetTable;
  readonly latest: LatestPublish | null;
  readonly isThere: boolean;
}

/** Changes all tables of a database in a transaction. Returns the rows of each table then, or null if nothing had to be written. */
export async function publishToSql(
  target: SqlTarget,
  tables: readonly TargetTable[],
  { source, request, record }: Drafted,
): Promise<readonly TableRows[] | null> {
  const publishes = target.within(PUBLISHES);
  await target.query(`CREATE TABLE IF NOT EXISTS ${publishes} (table_name text NOT NULL, publish text NOT NULL,
    source text NOT NULL, run text NOT NULL, published_at timestamp NOT NULL, mode text NOT NULL, key_columns text NOT NULL,
    published_rows bigint NOT NULL, total_rows bigint NOT NULL, content text NOT NULL)`);
  // The answer to an earlier COMMIT may have been lost.
  const done = await target.query(`SELECT table_name, total_rows FROM ${publishes} WHERE publish = $1`, [record.id]);
  if (done.length > 0) return done.map((row) => ({ name: String(row.table_name), rows: Number(row.total_rows) }));
  const changes: Change[] = [];
  for (const table of tables) changes.push(await changeOf(target, table, source, request));
  const isSame = ({ latest, table }: Change) => isAppended(latest, table.staged, source, record.run);
  if (request.mode === 'append' && changes.every(isSame)) return null;
  const changed: TableRows[] = [];
  for (const change of changes) {
    const { staged, name } = change.table;
    await changeTable(target, change, request);
    const [counted] = await target.query(`SELECT count(*) AS total FROM ${target.within(name)}`);
    const total = Number(counted?.total);
    const facts = [JSON.stringify(request.key), String(staged.rows), String(total), contentOf(staged)];
    const time = record.at.replace('T', ' ').replace('Z', '');
    await target.query(
      `INSERT INTO ${publishes} VALUES ($1, $2, $3, $4, CAST($5 AS timestamp), $6, $7, CAST($8 AS bigint), CAST($9 AS bigint), $10)`,
      [name, record.id, source, record.run, time, record.mode, ...facts],
    );
    changed.push({ name: staged.name, rows: total });
  }
  return changed;
}

async function changeOf(
  target: SqlTarget,
  table: TargetTable,
  source: string,
  { mode }: PublishRequest,
): Promise<Change> {
  const { name, columns } = table;
  if (name.toLowerCase() === PUBLISHES)
    throw new WarehouseUnusable(
      'publish-target-taken',
      `The table ${name} would replace the record of publishes in ${target.shown}: give the job another name`,
    );
  const before = await target.columnsOf(name);
  const [row] = await target.query(
    `SELECT * FROM ${target.within(PUBLISHES)} WHERE table_name = $1 ORDER BY published_at DESC, publish DESC LIMIT 1`,
    [name],
  );
  const latest = (row as LatestPublish | undefined) ?? null;
  if (before === null) return { table, latest, isThere: false, other: true, added: [] };
  if (latest === null)
    throw new WarehouseUnusable(
      'publish-target-taken',
      `The table ${name} in ${target.shown} is not of a publish: rename it, or name another target`,
    );
  const at = { shown: target.shown, source, mode };
  return { table, latest, isThere: true, ...columnChange({ ...latest, columns: before }, { name, columns }, at) };
}

/**
 * A merge leaves a row as it is that equals the published one, so that the changes of a table, where the target records them, are those of the
 * rows. Several rows of one key, from earlier appends, become one.
 */
async function changeTable(target: SqlTarget, change: Change, { mode, key }: PublishRequest): Promise<void> {
  const { table, isThere, other, added } = change;
  const name = target.within(table.name);
  const list = (columns: readonly TableColumn[]) =>
    columns.map((column) => `${identifier(column.name)} ${column.type}`).join(', ');
  if (isThere && other) await target.query(`DROP TABLE ${name}`);
  if (other) await target.query(`CREATE TABLE ${name} (${list(table.columns)})`);
  for (const column of other ? [] : added) await target.query(`ALTER TABLE ${name} ADD COLUMN ${list([column])}`);
  // DELETE keeps the old rows visible for other transactions; TRUNCATE does not.
  if (!other && mode === 'replace') await target.query(`DELETE FROM ${name}`);
  if (other || mode !== 'merge') return target.add(table, name);
  const names = table.columns.map((column) => identifier(column.name));
  const keys = key.map(
    (column) => table.columns[table.staged.columns.findIndex((one) => one.name === column)]?.name ?? column,
  );
  const { old, fresh } = sides(table.columns);
  const same = sameKey(keys, { old, fresh });
  const listed = (of: string) => keys.map((column) => `${of}${identifier(column)}`).join(', ');
  const repeated = `(${listed(`${old}.`)}) IN (SELECT ${listed('')} FROM ${name} GROUP BY ${listed('')} HAVING count(*) > 1)`;
  const differs = names.map((column) => `${old}.${column} IS DISTINCT FROM ${fresh}.${column}`).join(' OR ');
  await target.query(`CREATE TEMP TABLE ${NEW} (${list(table.columns)})`);
  await target.add(table, NEW);
  await target.query(
    `DELETE FROM ${name} AS ${old} USING ${NEW} AS ${fresh} WHERE ${same} AND (${differs} OR ${repeated})`,
  );
  await target.query(
    `INSERT INTO ${name} (${names.join(', ')}) SELECT ${names.join(', ')} FROM ${NEW} AS ${fresh}
     WHERE NOT EXISTS (SELECT 1 FROM ${name} AS ${old} WHERE ${same})`,
  );
  await target.query(`DROP TABLE ${NEW}`);
}

/** The latest publish of a table, as its target records it. */
export type LatestPublish = Readonly<Record<'source' | 'run' | 'mode' | 'content', string>>;

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
