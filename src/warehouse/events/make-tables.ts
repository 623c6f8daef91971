import { commentsOn, createTable, type TableStyle } from '../shared/relation.js';
import type { EventDialect } from './event-sql.js';
import { eventTables } from './event-tables.js';
import { eventViews } from './event-views.js';

/** Statements that create the tables, sequence and views for events, with all comments. */
export function makeEventTables(dialect: EventDialect, style: TableStyle): string {
  const { prefix } = style;
  const tables = eventTables(dialect);
  const views = eventViews(dialect, prefix);
  return [
    `CREATE SEQUENCE ${prefix}event_load_ids;`,
    ...tables.map((table) => createTable(table, style)),
    ...views.map(({ name, query }) => `CREATE VIEW ${prefix}${name} AS\n${query};`),
    commentsOn([...tables, ...views], prefix),
  ].join('\n');
}
