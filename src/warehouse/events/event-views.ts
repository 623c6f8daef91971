import { column, commentsOn, createTable, type Relation, type TableStyle } from '../shared/relation.js';
import type { EventDialect } from './event-sql.js';
import { eventTables } from './event-tables.js';

interface View extends Relation {
  readonly query: string;
}

/** Views for the most frequent questions about events. `prefix`: the schema with its dot, or empty. */
export function eventViews(dialect: EventDialect, prefix: string): readonly View[] {
  const { text, time } = dialect;
  const count = (condition: string) => `CAST(sum(CASE WHEN ${condition} THEN 1 ELSE 0 END) AS BIGINT)`;
  const is = (type: string) => count(`type = '${type}'`);
  return [
    {
      kind: 'VIEW',
      name: 'item_timeline',
      is: 'Events of each item, by time.',
      row: 'one event of one item',
      columns: [
        column('text', 'origin', 'Base URL of the service, or sandbox.'),
        column('text', 'webset_id', 'Id of the webset of the item.'),
        column('text', 'item_id', 'Id of the item.'),
        column('long', 'step', 'Number of the event among those of the item, from 1.'),
        column('time', 'happened_at', 'Time of the event, UTC.'),
        column('text', 'type', 'Type of the event.'),
        column('text', 'item_type', 'Kind of the item.'),
        column('text', 'url', 'URL of the item.'),
        column('time', 'item_created_at', 'Time of the creation of the item, UTC.'),
        column('text', 'event_id', 'Id of the event; see events.'),
      ],
      query: `SELECT origin, webset_id, item_id,
  row_number() OVER (PARTITION BY origin, item_id ORDER BY created_at, list_order, id) AS step,
  created_at AS happened_at, type, ${text('data', ['properties', 'type'])} AS item_type,
  ${text('data', ['properties', 'url'])} AS url, ${time(text('data', ['createdAt']))} AS item_created_at, id AS event_id
FROM ${prefix}events WHERE item_id IS NOT NULL`,
    },
    {
      kind: 'VIEW',
      name: 'webset_activity_daily',
      is: 'Number of events in each webset, by day.',
      row: 'one webset on one day; events without a webset have a row of their own',
      columns: [
        column('text', 'origin', 'Base URL of the service, or sandbox.'),
        column('other', 'day', 'Day, UTC.'),
        column('text', 'webset_id', 'Id of the webset; NULL for events without one.'),
        column('long', 'events', 'Number of events of the day.'),
        column('long', 'items_created', 'Number of items created.'),
        column('long', 'items_enriched', 'Number of items enriched.'),
        column('long', 'searches_created', 'Number of searches created.'),
        column('long', 'searches_completed', 'Number of searches completed.'),
        column('long', 'exports_completed', 'Number of exports completed.'),
        column('time', 'first_at', 'Time of the first event of the day, UTC.'),
        column('time', 'last_at', 'Time of the last event of the day, UTC.'),
      ],
      query: `SELECT origin, ${dialect.day('created_at')} AS day, webset_id, CAST(count(*) AS BIGINT) AS events,
  ${is('webset.item.created')} AS items_created, ${is('webset.item.enriched')} AS items_enriched,
  ${is('webset.search.created')} AS searches_created, ${is('webset.search.completed')} AS searches_completed,
  ${is('webset.export.completed')} AS exports_completed, min(created_at) AS first_at, max(created_at) AS last_at
FROM ${prefix}events GROUP BY 1, 2, 3`,
    },
  ];
}

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
