import type { EventDialect } from './event-sql.js';
import type { Relation } from './event-tables.js';

interface View extends Relation {
  readonly query: string;
}

/** Views that answer what is asked of events most. `prefix`: the schema with its dot, or nothing. */
export function eventViews(dialect: EventDialect, prefix: string): readonly View[] {
  const { text, time } = dialect;
  const count = (condition: string) => `CAST(sum(CASE WHEN ${condition} THEN 1 ELSE 0 END) AS BIGINT)`;
  const is = (type: string) => count(`type = '${type}'`);
  return [
    {
      kind: 'VIEW',
      name: 'item_timeline',
      is: 'What happened to each item, in order.',
      columns: [
        { name: 'origin', type: 'text', is: 'Base URL of the service, or sandbox.' },
        { name: 'webset_id', type: 'text', is: 'Webset of the item.' },
        { name: 'item_id', type: 'text', is: 'The item.' },
        { name: 'step', type: 'long', is: 'Number of the event among those of the item, from 1.' },
        { name: 'happened_at', type: 'time', is: 'When, UTC.' },
        { name: 'type', type: 'text', is: 'What happened.' },
        { name: 'item_type', type: 'text', is: 'Kind of thing the item is.' },
        { name: 'url', type: 'text', is: 'Address of the thing.' },
        { name: 'item_created_at', type: 'time', is: 'When the item was created, UTC.' },
        { name: 'event_id', type: 'text', is: 'The event, see events.' },
      ],
      query: `SELECT origin, webset_id, item_id,
  row_number() OVER (PARTITION BY origin, item_id ORDER BY created_at, id) AS step,
  created_at AS happened_at, type, ${text('data', ['properties', 'type'])} AS item_type,
  ${text('data', ['properties', 'url'])} AS url, ${time(text('data', ['createdAt']))} AS item_created_at, id AS event_id
FROM ${prefix}events WHERE item_id IS NOT NULL`,
    },
    {
      kind: 'VIEW',
      name: 'webset_activity_daily',
      is: 'What happened in each webset, day by day.',
      columns: [
        { name: 'origin', type: 'text', is: 'Base URL of the service, or sandbox.' },
        { name: 'day', type: 'other', is: 'Day, UTC.' },
        { name: 'webset_id', type: 'text', is: 'The webset; NULL for events that name none.' },
        { name: 'events', type: 'long', is: 'Events of the day.' },
        { name: 'items_created', type: 'long', is: 'Items that were created.' },
        { name: 'items_enriched', type: 'long', is: 'Items that were enriched.' },
        { name: 'searches_created', type: 'long', is: 'Searches that began.' },
        { name: 'searches_completed', type: 'long', is: 'Searches that completed.' },
        { name: 'exports_completed', type: 'long', is: 'Exports that completed.' },
        { name: 'first_at', type: 'time', is: 'First event of the day, UTC.' },
        { name: 'last_at', type: 'time', is: 'Last event of the day, UTC.' },
      ],
      query: `SELECT origin, ${dialect.day('created_at')} AS day, webset_id, CAST(count(*) AS BIGINT) AS events,
  ${is('webset.item.created')} AS items_created, ${is('webset.item.enriched')} AS items_enriched,
  ${is('webset.search.created')} AS searches_created, ${is('webset.search.completed')} AS searches_completed,
  ${is('webset.export.completed')} AS exports_completed, min(created_at) AS first_at, max(created_at) AS last_at
FROM ${prefix}events GROUP BY 1, 2, 3`,
    },
  ];
}
