import { payloads } from '../../core/events/payloads.js';
import { partTables, stateTables } from '../../core/events/state-tables.js';
import type { Dialect } from '../dialect.js';
import { column, commentsOn, createTable, type Relation, type RelationColumn, required } from '../shared/relation.js';

const origin: RelationColumn = required(
  'text',
  'origin',
  'Base URL of the service, or sandbox: its data is never real.',
);
const id: RelationColumn = required(
  'text',
  'id',
  'Id at the service. In all tables, an id of more than 250 characters is cut and ends with its SHA-256.',
);
const stream: RelationColumn = required('text', 'stream', 'sync, or a backfill: each has a watermark of its own.');
const version: readonly RelationColumn[] = [
  required('time', 'version_at', 'Time of this version, UTC: its updatedAt, else the time of the event.'),
  required('time', 'event_at', 'Time of the event that has this version, UTC.'),
  required('long', 'list_order', 'Order of that event; see events.'),
  required('text', 'event_id', 'Id of that event; see events.'),
];

const exact: RelationColumn = column(
  'json',
  'event_exact',
  'The unchanged event, only if jsonb cannot store it (NUL, half a surrogate pair, number out of range); data then has a text such as \\u0000 instead.',
);

/** Tables of the events and of their loads. */
function logTables({ keepsExact }: Dialect): Relation[] {
  return [
    {
      kind: 'TABLE',
      name: 'events',
      is: 'Webset events, each once, as the service returned them.',
      row: 'one event',
      key: ['origin', 'id'],
      columns: [
        id,
        required('text', 'type', 'Type of the event, such as webset.item.created; unknown where the event has none.'),
        column('time', 'created_at', 'Time of the event, UTC.'),
        column(
          'text',
          'payload',
          `Kind of the object in data: ${payloads.map(({ kind }) => kind).join(', ')}; NULL if unknown.`,
        ),
        column('text', 'object_id', 'Id of the object in data.'),
        column('text', 'webset_id', 'Webset of the event, if it names one.'),
        column('text', 'item_id', 'Item of the event, if it names one.'),
        required('time', 'version_at', 'Time of the last change of data, UTC: its updatedAt, else created_at.'),
        column('parsed', 'data', 'The object of the event, as it was at that time.'),
        column('parsed', 'extra', 'Fields of the event without a column; mostly NULL.'),
        ...(keepsExact ? [exact] : []),
        column('digest', 'digest', 'Hash of data, to detect changed contents.'),
        origin,
        required('long', 'load_id', 'Load of the event; see event_loads.'),
        required('integer', 'page', 'Page of the window that has the event.'),
        required('long', 'list_order', 'Order of events with equal times, as the service lists them.'),
        required('time', 'loaded_at', 'Time of the load, UTC.'),
      ],
    },
    {
      kind: 'TABLE',
      name: 'event_streams',
      is: 'Watermark and latest run of each stream of events: the record of what is loaded.',
      row: 'one stream of one origin',
      key: ['origin', 'stream'],
      columns: [
        origin,
        stream,
        column('text', 'types', 'Event types of the stream, as a JSON list; empty: all.'),
        column(
          'time',
          'watermark',
          'Time up to which all events are loaded, UTC: the time of an event, never the current time.',
        ),
        column('time', 'swept_at', 'End of the last sweep, which reads two days again, UTC.'),
        column('time', 'completed_at', 'End of the last complete run, UTC.'),
        column('time', 'run_from', 'Start of the range of the latest run, UTC; NULL: no bound.'),
        column('time', 'run_to', 'End of the range of the latest run, UTC.'),
        column('integer', 'run_sweeps', '1 if the latest run is a sweep.'),
        column('time', 'began_at', 'Time when the latest run began, UTC.'),
        column('integer', 'next_window', 'Number of the next window.'),
        column('time', 'checked_at', 'Time when the latest verification was summarized, UTC.'),
      ],
    },
    {
      kind: 'TABLE',
      name: 'event_checks',
      is: 'Events that differ in the latest verification of each range. During a verification: all events that it has read.',
      row: 'one event of one verification',
      key: ['origin', 'stream', 'id'],
      columns: [
        origin,
        { ...stream, is: 'Stream of the verification.' },
        { ...id, is: 'Id of the event; see events.' },
        required(
          'text',
          'outcome',
          'missing: was not in the warehouse, loaded now; changed: had other contents, replaced now; gone: no longer returned by the service, row kept; same.',
        ),
      ],
    },
    {
      kind: 'TABLE',
      name: 'event_windows',
      is: 'Windows of the latest run of each stream, each walked with one cursor.',
      row: 'one window of the latest run of one stream',
      key: ['origin', 'stream', 'window_number'],
      columns: [
        origin,
        stream,
        required('integer', 'window_number', 'Number of the window within the stream.'),
        column('time', 'from_at', 'Start, inclusive, UTC; NULL: no bound.'),
        required('time', 'to_at', 'End, inclusive, UTC.'),
        column('text', 'attempt', 'Attempt that walks it; no other attempt may advance its cursor.'),
        required('text', 'walk', 'State of the walk: cursor and pages read, as JSON.'),
        required('integer', 'done', '1 if the window is walked to its end.'),
        column('time', 'max_at', 'Time of the newest event that was read, UTC.'),
        required('long', 'pages', 'Number of pages read.'),
        required('long', 'events', 'Number of events read.'),
        required('long', 'added', 'Number of new events.'),
        required('long', 'changed', 'Number of events with newer contents.'),
      ],
    },
    {
      kind: 'TABLE',
      name: 'event_loads',
      is: 'Pages that were loaded in one transaction, a row for each window.',
      row: 'the pages of one window that one transaction loaded',
      key: ['load_id'],
      columns: [
        required('long', 'load_id', 'Number of the load.'),
        origin,
        stream,
        required('integer', 'window_number', 'Window of the pages.'),
        required('text', 'attempt', 'Attempt that read the pages.'),
        required('integer', 'first_page', 'Number of the first page.'),
        required('integer', 'last_page', 'Number of the last page.'),
        required('long', 'events', 'Number of events on the pages, each counted once.'),
        required('long', 'added', 'Number of new events.'),
        required('long', 'changed', 'Number of events with newer contents.'),
        required('long', 'bytes', 'Size of the pages.'),
        required(
          'integer',
          'in_state',
          '1 once these events are in current state (at the latest at the end of the run); else 0.',
        ),
        required('time', 'loaded_at', 'Time of the load, UTC.'),
      ],
    },
  ];
}

const data: RelationColumn = column('parsed', 'data', 'The whole object as JSON, including fields without a column.');
const deleted: RelationColumn = column(
  'time',
  'deleted_at',
  'Time of the deletion, UTC; NULL: no such event. Objects of a deleted webset are not marked; see websets.',
);

/** The tables of current state, in the order of their creation. */
export const stateRelations: readonly Relation[] = [
  ...stateTables.map(({ name, is, row, columns }) => ({
    kind: 'TABLE' as const,
    name,
    is,
    row,
    key: ['origin', 'id'],
    columns: [id, ...columns, data, deleted, ...version, origin],
  })),
  ...partTables.map(({ name, is, row, owner, columns }) => ({
    kind: 'TABLE' as const,
    name,
    is,
    row,
    key: [],
    columns: [
      { name: owner, type: 'text' as const, is: 'Id of the object that it is a part of.', required: true },
      ...columns,
      data,
      ...version,
      origin,
    ],
  })),
];

/** Every table for events, in the order of their creation. */
export const eventTables = (dialect: Dialect): readonly Relation[] => [...logTables(dialect), ...stateRelations];

interface View extends Relation {
  readonly query: string;
}

/** Views for the most frequent questions about events. */
export function eventViews(dialect: Dialect): readonly View[] {
  const { text, time, prefix } = dialect;
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
export function makeEventTables(dialect: Dialect): string {
  const { prefix } = dialect;
  const tables = eventTables(dialect);
  const views = eventViews(dialect);
  return [
    `CREATE SEQUENCE ${prefix}event_load_ids;`,
    ...tables.map((table) => createTable(table, dialect)),
    ...views.map(({ name, query }) => `CREATE VIEW ${prefix}${name} AS\n${query};`),
    commentsOn([...tables, ...views], prefix),
  ].join('\n');
}
