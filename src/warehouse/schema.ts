import { agentRunTables } from './agent-run-store.js';
import type { Dialect } from './dialect.js';
import { eventTables, eventViews } from './events/event-tables.js';
import { monitorTables } from './monitors/monitor-tables.js';
import { resultViews } from './rows/result-relations.js';
import { rowTables, rowViews } from './rows/row-tables.js';
import { commentsOn, createTable, type Relation } from './shared/relation.js';

/** All tables of a warehouse. */
export const tablesOf = (dialect: Dialect): readonly Relation[] => [
  ...rowTables(dialect.keepsExact),
  ...eventTables(dialect),
  ...monitorTables,
  ...agentRunTables,
];

/** Statements that create all tables and views of the newest version in an empty file or schema, with all comments. */
export function createSchema(dialect: Dialect): string {
  const { prefix } = dialect;
  const tables = tablesOf(dialect);
  const views = [...rowViews(dialect), ...eventViews(dialect), ...resultViews(dialect)];
  return [
    `CREATE SEQUENCE ${prefix}event_load_ids;`,
    ...tables.map((table) => createTable(table, dialect)),
    ...views.map(({ name, query }) => `CREATE VIEW ${prefix}${name} AS\n${query};`),
    commentsOn([...tables, ...views], prefix),
  ].join('\n');
}
