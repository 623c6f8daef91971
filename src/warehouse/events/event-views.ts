import type { Relation } from '../shared/relation.js';
import type { EventDialect } from './event-sql.js';

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
      columns: [
        { name: 'origin', type: 'text', is: 'Base URL of the service, or sandbox.' },
        { name: 'webset_id', type: 'text', is: 'Id of the webset of the item.' },
        { name: 'item_id', type: 'text', is: 'Id of the item.' },
        { name: 'step', type: 'long', is: 'Number of the event among those of the item, from 1.' },
        { name: 'happened_at', type: 'time', is: 'Time of the event, UTC.' },
        { name: 'type', type: 'text', is: 'Type of the event.' },
        { name: 'item_type', type: 'text', is: 'Kind of the item.' },
        { name: 'url', type: 'text', is: 'URL of the item.' },
        { name: 'item_created_at', type: 'time', is: 'Time of the creation of the item, UTC.' },
        { name: 'event_id', type: 'text', is: 'Id of the event; see events.' },
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
      is: 'Number of events in each webset, by day.',
      columns: [
        { name: 'origin', type: 'text', is: 'Base URL of the service, or sandbox.' },
        { name: 'day', type: 'other', is: 'Day, UTC.' },
        { name: 'webset_id', type: 'text', is: 'Id of the webset; NULL for events without one.' },
        { name: 'events', type: 'long', is: 'Number of events of the day.' },
        { name: 'items_created', type: 'long', is: 'Number of items created.' },
        { name: 'items_enriched', type: 'long', is: 'Number of items enriched.' },
        { name: 'searches_created', type: 'long', is: 'Number of searches created.' },
        { name: 'searches_completed', type: 'long', is: 'Number of searches completed.' },
        { name: 'exports_completed', type: 'long', is: 'Number of exports completed.' },
        { name: 'first_at', type: 'time', is: 'Time of the first event of the day, UTC.' },
        { name: 'last_at', type: 'time', is: 'Time of the last event of the day, UTC.' },
      ],
      query: `SELECT origin, ${dialect.day('created_at')} AS day, webset_id, CAST(count(*) AS BIGINT) AS events,
  ${is('webset.item.created')} AS items_created, ${is('webset.item.enriched')} AS items_enriched,
  ${is('webset.search.created')} AS searches_created, ${is('webset.search.completed')} AS searches_completed,
  ${is('webset.export.completed')} AS exports_completed, min(created_at) AS first_at, max(created_at) AS last_at
FROM ${prefix}events GROUP BY 1, 2, 3`,
    },
  ];
}
