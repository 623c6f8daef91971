import { payloads } from '../../core/events/payloads.js';
import { partTables, stateTables } from '../../core/events/state-tables.js';
import type { Relation, RelationColumn } from '../shared/relation.js';
import type { EventDialect } from './event-sql.js';

const origin: RelationColumn = {
  name: 'origin',
  type: 'text',
  is: 'Base URL of the service, or sandbox: its data is never real.',
  required: true,
};
const id: RelationColumn = { name: 'id', type: 'text', is: 'Id at the service.', required: true };
const stream: RelationColumn = {
  name: 'stream',
  type: 'text',
  is: 'sync, or a backfill: each has a watermark of its own.',
  required: true,
};
const version: readonly RelationColumn[] = [
  {
    name: 'version_at',
    type: 'time',
    is: 'Time of this version, UTC: its updatedAt, else the time of the event.',
    required: true,
  },
  { name: 'event_at', type: 'time', is: 'Time of the event that has this version, UTC.', required: true },
  { name: 'event_id', type: 'text', is: 'Id of that event; see events.', required: true },
];

/**
 * Columns of `event_loads` that a later migration added. The columns are NULL in older rows; the events of these rows are already in the
 * state.
 */
export const stateMarks: readonly RelationColumn[] = [
  { name: 'bytes', type: 'long', is: 'Size of the pages.' },
  {
    name: 'in_state',
    type: 'integer',
    is: '1 once these events are in current state (at the latest at the end of the run); else 0.',
  },
];

/** Tables of the events and of their loads. */
function logTables(dialect: EventDialect): Relation[] {
  return [
    {
      kind: 'TABLE',
      name: 'events',
      is: 'Webset events, each once, as the service returned them.',
      key: ['origin', 'id'],
      columns: [
        id,
        { name: 'type', type: 'text', is: 'Type of the event, such as webset.item.created.', required: true },
        { name: 'created_at', type: 'time', is: 'Time of the event, UTC.' },
        {
          name: 'payload',
          type: 'text',
          is: `Kind of the object in data: ${payloads.map(({ kind }) => kind).join(', ')}; NULL if unknown.`,
        },
        { name: 'object_id', type: 'text', is: 'Id of the object in data.' },
        { name: 'webset_id', type: 'text', is: 'Webset of the event, if it names one.' },
        { name: 'item_id', type: 'text', is: 'Item of the event, if it names one.' },
        {
          name: 'version_at',
          type: 'time',
          is: 'Time of the last change of data, UTC: its updatedAt, else created_at.',
          required: true,
        },
        { name: 'data', type: 'parsed', is: 'The object of the event, as it was at that time.' },
        { name: 'extra', type: 'parsed', is: 'Fields of the event without a column; mostly NULL.' },
        ...dialect.moreEventColumns,
        { name: 'digest', type: 'digest', is: 'Hash of data, to detect changed contents.' },
        origin,
        { name: 'load_id', type: 'long', is: 'Load of the event; see event_loads.', required: true },
        { name: 'page', type: 'integer', is: 'Page of the window that has the event.', required: true },
        { name: 'loaded_at', type: 'time', is: 'Time of the load, UTC.', required: true },
      ],
    },
    {
      kind: 'TABLE',
      name: 'event_streams',
      is: 'Watermark and latest run of each stream of events: the record of what is loaded.',
      key: ['origin', 'stream'],
      columns: [
        origin,
        stream,
        { name: 'types', type: 'text', is: 'Event types of the stream, as a JSON list; empty: all.' },
        {
          name: 'watermark',
          type: 'time',
          is: 'Time up to which all events are loaded, UTC: the time of an event, never the current time.',
        },
        { name: 'swept_at', type: 'time', is: 'End of the last sweep, which reads two days again, UTC.' },
        { name: 'completed_at', type: 'time', is: 'End of the last complete run, UTC.' },
        { name: 'run_from', type: 'time', is: 'Start of the range of the latest run, UTC; NULL: no bound.' },
        { name: 'run_to', type: 'time', is: 'End of the range of the latest run, UTC.' },
        { name: 'run_sweeps', type: 'integer', is: '1 if the latest run is a sweep.' },
        { name: 'began_at', type: 'time', is: 'Time when the latest run began, UTC.' },
        { name: 'next_window', type: 'integer', is: 'Number of the next window.' },
        {
          name: 'checked_at',
          type: 'time',
          is: 'Time when the latest verification was summarized, UTC.',
        },
      ],
    },
    {
      kind: 'TABLE',
      name: 'event_checks',
      is: 'Events that differ in the latest verification of each range. During a verification: all events that it has read.',
      key: ['origin', 'stream', 'id'],
      columns: [
        origin,
        { ...stream, is: 'Stream of the verification.' },
        { ...id, is: 'Id of the event; see events.' },
        {
          name: 'outcome',
          type: 'text',
          is: 'missing: was not in the warehouse, loaded now; changed: had other contents, replaced now; gone: no longer returned by the service, row kept; same.',
          required: true,
        },
      ],
    },
    {
      kind: 'TABLE',
      name: 'event_windows',
      is: 'Windows of the latest run of each stream, each walked with one cursor.',
      key: ['origin', 'stream', 'window_number'],
      columns: [
        origin,
        stream,
        { name: 'window_number', type: 'integer', is: 'Number of the window within the stream.', required: true },
        { name: 'from_at', type: 'time', is: 'Start, inclusive, UTC; NULL: no bound.' },
        { name: 'to_at', type: 'time', is: 'End, inclusive, UTC.', required: true },
        { name: 'attempt', type: 'text', is: 'Attempt that walks it; no other attempt may advance its cursor.' },
        { name: 'walk', type: 'text', is: 'State of the walk: cursor and pages read, as JSON.', required: true },
        { name: 'done', type: 'integer', is: '1 if the window is walked to its end.', required: true },
        { name: 'max_at', type: 'time', is: 'Time of the newest event that was read, UTC.' },
        { name: 'pages', type: 'long', is: 'Number of pages read.', required: true },
        { name: 'events', type: 'long', is: 'Number of events read.', required: true },
        { name: 'added', type: 'long', is: 'Number of new events.', required: true },
        { name: 'changed', type: 'long', is: 'Number of events with newer contents.', required: true },
      ],
    },
    {
      kind: 'TABLE',
      name: 'event_loads',
      is: 'Pages that were loaded in one transaction, a row for each window.',
      key: ['load_id'],
      columns: [
        { name: 'load_id', type: 'long', is: 'Number of the load.', required: true },
        origin,
        stream,
        { name: 'window_number', type: 'integer', is: 'Window of the pages.', required: true },
        { name: 'attempt', type: 'text', is: 'Attempt that read the pages.', required: true },
        { name: 'first_page', type: 'integer', is: 'Number of the first page.', required: true },
        { name: 'last_page', type: 'integer', is: 'Number of the last page.', required: true },
        { name: 'events', type: 'long', is: 'Number of events on the pages, each counted once.', required: true },
        { name: 'added', type: 'long', is: 'Number of new events.', required: true },
        { name: 'changed', type: 'long', is: 'Number of events with newer contents.', required: true },
        { name: 'loaded_at', type: 'time', is: 'Time of the load, UTC.', required: true },
        ...stateMarks,
      ],
    },
  ];
}

const data: RelationColumn = {
  name: 'data',
  type: 'parsed',
  is: 'The whole object as JSON, including fields without a column.',
};
const deleted: RelationColumn = {
  name: 'deleted_at',
  type: 'time',
  is: 'Time of the deletion, UTC; NULL: no such event. Objects of a deleted webset are not marked; see websets.',
};

/** Every table for events, in the order of their creation. */
export function eventTables(dialect: EventDialect): readonly Relation[] {
  return [
    ...logTables(dialect),
    ...stateTables.map(({ name, is, columns }) => ({
      kind: 'TABLE' as const,
      name,
      is,
      key: ['origin', 'id'],
      columns: [id, ...columns, data, deleted, ...version, origin],
    })),
    ...partTables.map(({ name, is, owner, columns }) => ({
      kind: 'TABLE' as const,
      name,
      is,
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
}
