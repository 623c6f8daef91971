import { payloads } from '../../core/events/payloads.js';
import type { ColumnType } from '../../core/events/state-table.js';
import { partTables, stateTables } from '../../core/events/state-tables.js';
import type { EventDialect } from './event-sql.js';

/** A table or view in words, for the database's own comments and the data dictionary. */
export interface Relation {
  readonly kind: 'TABLE' | 'VIEW';
  readonly name: string;
  readonly is: string;
  readonly columns: readonly RelationColumn[];
  readonly key?: readonly string[];
}

export interface RelationColumn {
  readonly name: string;
  readonly type: ColumnType | 'json' | 'digest' | 'long' | 'other';
  readonly is: string;
  readonly required?: boolean;
  /** Type in the words of the database, for `other`. */
  readonly own?: string;
}

const origin: RelationColumn = {
  name: 'origin',
  type: 'text',
  is: 'Base URL of the service, or sandbox: its data is never real.',
  required: true,
};
const id: RelationColumn = { name: 'id', type: 'text', is: 'Id that the service gave it.', required: true };
const stream: RelationColumn = {
  name: 'stream',
  type: 'text',
  is: 'sync, or a backfill: each has marks of its own.',
  required: true,
};
const version: readonly RelationColumn[] = [
  {
    name: 'version_at',
    type: 'time',
    is: 'When this version was made, UTC: its updatedAt, else that of the event.',
    required: true,
  },
  { name: 'event_at', type: 'time', is: 'When the event that brought it happened, UTC.', required: true },
  { name: 'event_id', type: 'text', is: 'That event, see events.', required: true },
];

/** Columns of `event_loads` that came later; NULL in older lines, whose events are in the state. */
export const stateMarks: readonly RelationColumn[] = [
  { name: 'bytes', type: 'long', is: 'Size of the pages.' },
  {
    name: 'in_state',
    type: 'integer',
    is: '0 while current state is still to be made of them; at the latest when a run ends.',
  },
];

/** Tables of the events and of how they were loaded. */
function logTables(dialect: EventDialect): Relation[] {
  return [
    {
      kind: 'TABLE',
      name: 'events',
      is: 'Webset events, each once, as the service told them.',
      key: ['origin', 'id'],
      columns: [
        id,
        { name: 'type', type: 'text', is: 'What happened, such as webset.item.created.', required: true },
        { name: 'created_at', type: 'time', is: 'When it happened, UTC.' },
        {
          name: 'payload',
          type: 'text',
          is: `What data holds: ${payloads.map(({ kind }) => kind).join(', ')}; NULL where nobody knows.`,
        },
        { name: 'object_id', type: 'text', is: 'Id of what it is about.' },
        { name: 'webset_id', type: 'text', is: 'Webset it is about, where it says so.' },
        { name: 'item_id', type: 'text', is: 'Item it is about, if it is about one.' },
        {
          name: 'version_at',
          type: 'time',
          is: 'When data last changed, UTC: its updatedAt, else created_at.',
          required: true,
        },
        { name: 'data', type: 'json', is: 'What it is about, as it was then.' },
        { name: 'extra', type: 'json', is: 'Fields of the event that have no column here; mostly NULL.' },
        ...dialect.moreEventColumns.map(({ name, type, is }) => ({ name, type: 'other' as const, own: type, is })),
        { name: 'digest', type: 'digest', is: 'Hash of data, to see whether it came with other contents.' },
        origin,
        { name: 'load_id', type: 'long', is: 'Load that brought it, see event_loads.', required: true },
        { name: 'page', type: 'integer', is: 'Page of the window that it came on.', required: true },
        { name: 'loaded_at', type: 'time', is: 'When it was loaded, UTC.', required: true },
      ],
    },
    {
      kind: 'TABLE',
      name: 'event_streams',
      is: 'How far each stream of events is: the truth about what is loaded.',
      key: ['origin', 'stream'],
      columns: [
        origin,
        stream,
        { name: 'types', type: 'text', is: 'Types of events it is limited to, as a JSON list; empty: all.' },
        {
          name: 'watermark',
          type: 'time',
          is: 'Events up to here are loaded, UTC; moves to what was loaded, never to now.',
        },
        { name: 'swept_at', type: 'time', is: 'End of the last sweep, which reads two days again, UTC.' },
        { name: 'completed_at', type: 'time', is: 'When a run was complete last, UTC.' },
        { name: 'run_from', type: 'time', is: 'Beginning of the latest run, UTC; NULL: of everything.' },
        { name: 'run_to', type: 'time', is: 'End of the latest run, UTC.' },
        { name: 'run_sweeps', type: 'integer', is: '1 where the latest run is a sweep.' },
        { name: 'began_at', type: 'time', is: 'When the latest run began, UTC.' },
        { name: 'next_window', type: 'integer', is: 'Number of the next window.' },
        { name: 'checked_at', type: 'time', is: 'When the latest run, a verification, was summed up, UTC.' },
      ],
    },
    {
      kind: 'TABLE',
      name: 'event_checks',
      is: 'Events that the latest verification of each stretch found to differ. While it goes on: all that it has read.',
      key: ['origin', 'stream', 'id'],
      columns: [
        origin,
        { ...stream, is: 'The verification.' },
        { ...id, is: 'The event, see events.' },
        {
          name: 'outcome',
          type: 'text',
          is: 'missing: it was lacking, loaded now; changed: it had other contents, mended now; gone: the service shows it no more, kept; same.',
          required: true,
        },
      ],
    },
    {
      kind: 'TABLE',
      name: 'event_windows',
      is: 'Stretches of time of the latest run of each stream, each walked with one cursor.',
      key: ['origin', 'stream', 'window_number'],
      columns: [
        origin,
        stream,
        { name: 'window_number', type: 'integer', is: 'Number within the stream.', required: true },
        { name: 'from_at', type: 'time', is: 'Beginning, included, UTC; NULL: of everything.' },
        { name: 'to_at', type: 'time', is: 'End, included, UTC.', required: true },
        { name: 'attempt', type: 'text', is: 'Who walks it: only that one may move its cursor.' },
        { name: 'walk', type: 'text', is: 'Where the walk stands: cursor and what was seen, as JSON.', required: true },
        { name: 'done', type: 'integer', is: '1 when it is walked to its end.', required: true },
        { name: 'max_at', type: 'time', is: 'Newest event that was read, UTC.' },
        { name: 'pages', type: 'long', is: 'Pages read.', required: true },
        { name: 'events', type: 'long', is: 'Events read.', required: true },
        { name: 'added', type: 'long', is: 'Events that were not there before.', required: true },
        { name: 'changed', type: 'long', is: 'Events that came with newer contents.', required: true },
      ],
    },
    {
      kind: 'TABLE',
      name: 'event_loads',
      is: 'Pages that were loaded in one transaction, a line a window: where events come from.',
      key: ['load_id'],
      columns: [
        { name: 'load_id', type: 'long', is: 'Number of the load.', required: true },
        origin,
        stream,
        { name: 'window_number', type: 'integer', is: 'Window the pages are of.', required: true },
        { name: 'attempt', type: 'text', is: 'Who read them.', required: true },
        { name: 'first_page', type: 'integer', is: 'First of the pages.', required: true },
        { name: 'last_page', type: 'integer', is: 'Last of the pages.', required: true },
        { name: 'events', type: 'long', is: 'Events on them, each once.', required: true },
        { name: 'added', type: 'long', is: 'Events that were not there before.', required: true },
        { name: 'changed', type: 'long', is: 'Events that came with newer contents.', required: true },
        { name: 'loaded_at', type: 'time', is: 'When they were loaded, UTC.', required: true },
        ...stateMarks,
      ],
    },
  ];
}

const data: RelationColumn = {
  name: 'data',
  type: 'json',
  is: 'The whole object as JSON, with what has no column here.',
};
const deleted: RelationColumn = {
  name: 'deleted_at',
  type: 'time',
  is: 'When it was deleted, UTC; NULL: no event says so. What belongs to a deleted webset is not marked, see websets.',
};

/** Every table that is made for events, in the order in which they are made. */
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
        { name: owner, type: 'text' as const, is: 'What it is a part of.', required: true },
        ...columns,
        data,
        ...version,
        origin,
      ],
    })),
  ];
}
