import { createHash } from 'node:crypto';
import { WarehouseUnusable } from '../core/rows/warehouse-errors.js';
import { baselineOf } from '../postgres/migrations-table.js';
import { agentRunTables } from './agent-run-store.js';
import type { Dialect, Transaction } from './dialect.js';
import { eventTables, eventViews } from './events/event-tables.js';
import { monitorTables } from './monitors/monitor-tables.js';
import {
  fullShapes,
  type InputColumns,
  jobColumns,
  resultColumnsOf,
  type StoredTexts,
  storedTexts,
} from './rows/job-columns.js';
import { renewJobView, viewQuery } from './rows/job-view.js';
import { resultViews } from './rows/result-relations.js';
import { rowTables, rowViews } from './rows/row-tables.js';
import { identifier } from './shared/duckdb-quote.js';
import {
  addMissing,
  commentsOn,
  createTable,
  createView,
  differences,
  type FoundColumn,
  isMade,
  madeView,
  type Relation,
} from './shared/relation.js';

export const tablesOf = (dialect: Dialect): readonly Relation[] => [
  ...rowTables(dialect.keepsExact),
  ...eventTables(dialect),
  ...monitorTables,
  ...agentRunTables,
];

const viewsOf = (dialect: Dialect) =>
  [...rowViews(dialect), ...eventViews(dialect), ...resultViews(dialect)].map((view) => ({
    ...view,
    ...madeView(view.name, view.query, `${view.is} Each row: ${view.row}`),
  }));

/** Statements that create all tables and views of the newest version in an empty file or schema, with all comments. */
export function createSchema(dialect: Dialect): string {
  const { prefix } = dialect;
  const [tables, views] = [tablesOf(dialect), viewsOf(dialect)];
  return [
    `CREATE SEQUENCE ${prefix}event_load_ids;`,
    ...tables.map((table) => createTable(table, dialect)),
    ...views.map((view) => createView(view, dialect)),
    commentsOn([...tables, ...views], prefix),
  ].join('\n');
}

/** Name of the step that brings a warehouse to the tables and views of this version. The views of jobs are in it, too. */
export function schemaName(dialect: Dialect): string {
  const ofJobs = fullShapes.map((job) => viewQuery(dialect, '', { columns: [] }, jobColumns(job)).query);
  const hash = createHash('sha256').update([createSchema(dialect), ...ofJobs].join('\n'));
  return `${baselineOf('warehouse')}-${hash.digest('hex').slice(0, 12)}`;
}

/**
 * Brings an existing warehouse to this version: adds tables, and columns that may be NULL, and makes each view again whose definition has
 * changed. A view with other columns than those of this version is of a newer one, and stays.
 */
export async function renewSchema(tx: Transaction): Promise<void> {
  const { dialect } = tx;
  const tables = tablesOf(dialect);
  const found = await tx.rows<FoundColumn>(dialect.columnsInUse);
  const jobs = await tx.rows<{ job: string; view: string } & InputColumns & StoredTexts>(
    `SELECT job, view_name AS view, columns, types, ${storedTexts} FROM searchflow_jobs`,
  );
  const changed: ReturnType<typeof viewsOf> = [];
  for (const view of viewsOf(dialect)) {
    const names = view.columns.map(({ name }) => name);
    const isNewer = found.some(({ table, column }) => table === view.name && !names.includes(column));
    if (!isNewer && !(await isMade(tx, view))) changed.push(view);
  }
  // A database may keep a view from being dropped while another one reads it.
  const ofJobs = changed.some(({ name }) => name === 'enriched_rows') ? jobs.map(({ view }) => view) : [];
  const dropped = [...ofJobs, ...changed.map(({ name }) => name)];
  await tx.run(
    [
      ...addMissing(tables, dialect, found),
      ...dropped.map((name) => `DROP VIEW IF EXISTS ${dialect.prefix}${identifier(name)};`),
      ...changed.map((view) => createView(view, dialect)),
      commentsOn([...tables, ...changed], dialect.prefix),
    ].join('\n'),
  );
  for (const job of jobs) await renewJobView(tx, job.view, job, resultColumnsOf(job));
}

/** Throws `WarehouseUnusable` with all changes of the tables. */
export async function checkTables(tx: Transaction, shown: string, elsewhere: string): Promise<void> {
  const { dialect } = tx;
  const wrong = differences(tablesOf(dialect), dialect.types, await tx.rows<FoundColumn>(dialect.columnsInUse));
  if (wrong.length === 0) return;
  throw new WarehouseUnusable(
    'warehouse-changed',
    `The tables in ${shown} were changed: ${wrong.join('; ')}. Undo that, or load into ${elsewhere}`,
  );
}
