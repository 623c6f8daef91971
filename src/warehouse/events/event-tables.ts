import { payloads } from '../../core/events/payloads.js';
import { partTables, stateTables } from '../../core/events/state-tables.js';
import type { Dialect } from '../dialect.js';
import { originColumn, type Relation, tableColumns, type View } from '../shared/relation.js';

const id =
  'id text! Id at the service. In all tables, an id of more than 250 characters is cut and ends with its SHA-256.';
const stream = 'stream text! sync, or a backfill: each has a watermark of its own.';
const version = `version_at time! Time of this version, UTC: its updatedAt, else the time of the event.
  event_at time! Time of the event that has this version, UTC.
  list_order long! Order of that event; see events.
  event_id text! Id of that event; see events.`;

const exact =
  'event_exact json The unchanged event, only if jsonb cannot store it (NUL, half a surrogate pair, number out of range); data then has a text such as \\u0000 instead.';

function logTables({ keepsExact }: Dialect): Relation[] {
  return [
    {
      name: 'events',
      is: 'Webset events, each once, as the service returned them.',
      row: 'one event',
      key: ['origin', 'id'],
      columns: [
        ...tableColumns(`
        ${id}
        type text! Type of the event, such as webset.item.created; unknown where the event has none.
        created_at time Time of the event, UTC.
        payload text Kind of the object in data: ${payloads.map(({ kind }) => kind).join(', ')}; NULL if unknown.
        object_id text Id of the object in data.
        webset_id text Webset of the event, if it names one.
        item_id text Item of the event, if it names one.
        version_at time! Time of the last change of data, UTC: its updatedAt, else created_at.
        data parsed The object of the event, as it was at that time.
        extra parsed Fields of the event without a column; mostly NULL.
      `),
        ...(keepsExact ? tableColumns(exact) : []),
        ...tableColumns(`
        digest digest Hash of data, to detect changed contents.
        ${originColumn}
        load_id long! Load of the event; see event_loads.
        page integer! Page of the window that has the event.
        list_order long! Order of events with equal times, as the service lists them.
        loaded_at time! Time of the load, UTC.
      `),
      ],
    },
    {
      name: 'event_streams',
      is: 'Watermark and latest run of each stream of events: the record of what is loaded.',
      row: 'one stream of one origin',
      key: ['origin', 'stream'],
      columns: tableColumns(`
        ${originColumn}
        ${stream}
        types text Event types of the stream, as a JSON list; empty: all.
        watermark time Time up to which all events are loaded, UTC: the time of an event, never the current time.
        swept_at time End of the last sweep, which reads two days again, UTC.
        completed_at time End of the last complete run, UTC.
        run_from time Start of the range of the latest run, UTC; NULL: no bound.
        run_to time End of the range of the latest run, UTC.
        run_sweeps integer 1 if the latest run is a sweep.
        began_at time Time when the latest run began, UTC.
        next_window integer Number of the next window.
        checked_at time Time when the latest verification was summarized, UTC.
      `),
    },
    {
      name: 'event_checks',
      is: 'Events that differ in the latest verification of each range. During a verification: all events that it has read.',
      row: 'one event of one verification',
      key: ['origin', 'stream', 'id'],
      columns: tableColumns(`
        ${originColumn}
        stream text! Stream of the verification.
        id text! Id of the event; see events.
        outcome text! missing: was not in the warehouse, loaded now; changed: had other contents, replaced now; gone: no longer returned by the service, row kept; same.
      `),
    },
    {
      name: 'event_windows',
      is: 'Windows of the latest run of each stream, each walked with one cursor.',
      row: 'one window of the latest run of one stream',
      key: ['origin', 'stream', 'window_number'],
      columns: tableColumns(`
        ${originColumn}
        ${stream}
        window_number integer! Number of the window within the stream.
        from_at time Start, inclusive, UTC; NULL: no bound.
        to_at time! End, inclusive, UTC.
        attempt text Attempt that walks it; no other attempt may advance its cursor.
        walk text! State of the walk: cursor and pages read, as JSON.
        done integer! 1 if the window is walked to its end.
        max_at time Time of the newest event that was read, UTC.
        pages long! Number of pages read.
        events long! Number of events read.
        added long! Number of new events.
        changed long! Number of events with newer contents.
      `),
    },
    {
      name: 'event_loads',
      is: 'Pages that were loaded in one transaction, a row for each window.',
      row: 'the pages of one window that one transaction loaded',
      key: ['load_id'],
      columns: tableColumns(`
        load_id long! Number of the load.
        ${originColumn}
        ${stream}
        window_number integer! Window of the pages.
        attempt text! Attempt that read the pages.
        first_page integer! Number of the first page.
        last_page integer! Number of the last page.
        events long! Number of events on the pages, each counted once.
        added long! Number of new events.
        changed long! Number of events with newer contents.
        bytes long! Size of the pages.
        in_state integer! 1 once these events are in current state (at the latest at the end of the run); else 0.
        loaded_at time! Time of the load, UTC.
      `),
    },
  ];
}

const data = 'data parsed The whole object as JSON, including fields without a column.';
const deleted =
  'deleted_at time Time of the deletion, UTC; NULL: no such event. Objects of a deleted webset are not marked; see websets.';

/** The tables of current state, in the order of their creation. */
export const stateRelations: readonly Relation[] = [
  ...stateTables.map(({ name, is, row, columns }) => ({
    name,
    is,
    row,
    key: ['origin', 'id'],
    columns: [...tableColumns(id), ...columns, ...tableColumns([data, deleted, version, originColumn].join('\n'))],
  })),
  ...partTables.map(({ name, is, row, owner, columns }) => ({
    name,
    is,
    row,
    key: [],
    columns: [
      ...tableColumns(`${owner} text! Id of the object that it is a part of.`),
      ...columns,
      ...tableColumns([data, version, originColumn].join('\n')),
    ],
  })),
];

export const eventTables = (dialect: Dialect): readonly Relation[] => [...logTables(dialect), ...stateRelations];

/** Views for the most frequent questions about events. */
export function eventViews(dialect: Dialect): readonly View[] {
  const { text, time, prefix } = dialect;
  const count = (condition: string) => `CAST(sum(CASE WHEN ${condition} THEN 1 ELSE 0 END) AS BIGINT)`;
  const is = (type: string) => count(`type = '${type}'`);
  return [
    {
      name: 'item_timeline',
      is: 'Events of each item, by time.',
      row: 'one event of one item',
      columns: tableColumns(`
        origin text Base URL of the service, or sandbox.
        webset_id text Id of the webset of the item.
        item_id text Id of the item.
        step long Number of the event among those of the item, from 1.
        happened_at time Time of the event, UTC.
        type text Type of the event.
        item_type text Kind of the item.
        url text URL of the item.
        item_created_at time Time of the creation of the item, UTC.
        event_id text Id of the event; see events.
      `),
      query: `SELECT origin, webset_id, item_id,
  row_number() OVER (PARTITION BY origin, item_id ORDER BY created_at, list_order, id) AS step,
  created_at AS happened_at, type, ${text('data', ['properties', 'type'])} AS item_type,
  ${text('data', ['properties', 'url'])} AS url, ${time(text('data', ['createdAt']))} AS item_created_at, id AS event_id
FROM ${prefix}events WHERE item_id IS NOT NULL`,
    },
    {
      name: 'webset_activity_daily',
      is: 'Number of events in each webset, by day.',
      row: 'one webset on one day; events without a webset have a row of their own',
      columns: tableColumns(`
        origin text Base URL of the service, or sandbox.
        day other Day, UTC.
        webset_id text Id of the webset; NULL for events without one.
        events long Number of events of the day.
        items_created long Number of items created.
        items_enriched long Number of items enriched.
        searches_created long Number of searches created.
        searches_completed long Number of searches completed.
        exports_completed long Number of exports completed.
        first_at time Time of the first event of the day, UTC.
        last_at time Time of the last event of the day, UTC.
      `),
      query: `SELECT origin, ${dialect.day('created_at')} AS day, webset_id, CAST(count(*) AS BIGINT) AS events,
  ${is('webset.item.created')} AS items_created, ${is('webset.item.enriched')} AS items_enriched,
  ${is('webset.search.created')} AS searches_created, ${is('webset.search.completed')} AS searches_completed,
  ${is('webset.export.completed')} AS exports_completed, min(created_at) AS first_at, max(created_at) AS last_at
FROM ${prefix}events GROUP BY 1, 2, 3`,
    },
  ];
}
