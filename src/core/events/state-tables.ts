import { common, field, type PartTable, type StateTable } from './state-table.js';

const { status, webset, created, updated } = common;

/** Current state of everything that events tell of (interface section 2.8, public facts 10.3). */
export const stateTables: readonly StateTable[] = [
  {
    name: 'websets',
    is: 'Websets as they are now.',
    sources: [{ payload: 'webset', path: [], deletes: ['webset.deleted'] }],
    columns: [
      status,
      field('text', 'external_id', 'Id that its owner gave it.'),
      field('text', 'title', 'Title.'),
      created,
      updated,
    ],
  },
  {
    name: 'webset_searches',
    is: 'Searches of websets as they are now.',
    sources: [
      { payload: 'search', path: [] },
      { payload: 'webset', path: ['searches', '*'] },
    ],
    columns: [
      webset,
      status,
      field('text', 'query', 'What is searched for.'),
      field('text', 'entity_type', 'Kind of thing searched for.', 'entity', 'type'),
      field('integer', 'count', 'How many are wanted.'),
      field('number', 'found', 'How many were found.', 'progress', 'found'),
      field('number', 'analyzed', 'How many were looked at.', 'progress', 'analyzed'),
      field('number', 'completion', 'Per cent done.', 'progress', 'completion'),
      field('number', 'expected_total', 'How many there are by estimate.', 'recall', 'expected', 'total'),
      field('text', 'behavior', 'Whether it adds to the webset or replaces it.'),
      field('time', 'canceled_at', 'When it was canceled, UTC.'),
      field('text', 'canceled_reason', 'Why it was canceled.'),
      created,
      updated,
    ],
  },
  {
    name: 'webset_imports',
    is: 'Imports into websets as they are now.',
    sources: [
      { payload: 'import', path: [] },
      { payload: 'webset', path: ['imports', '*'] },
    ],
    columns: [
      status,
      field('text', 'format', 'Format of what was imported.'),
      field('text', 'entity_type', 'Kind of thing imported.', 'entity', 'type'),
      field('text', 'title', 'Title.'),
      field('integer', 'count', 'How many were imported.'),
      field('text', 'failed_reason', 'Why it failed.'),
      field('text', 'failed_message', 'The same in words.'),
      field('time', 'failed_at', 'When it failed, UTC.'),
      created,
      updated,
    ],
  },
  {
    name: 'webset_enrichments',
    is: 'Columns that websets fill, as they are now. Events tell of them only within their webset.',
    sources: [
      { payload: 'enrichment', path: [] },
      { payload: 'webset', path: ['enrichments', '*'] },
    ],
    columns: [
      webset,
      status,
      field('text', 'title', 'Title.'),
      field('text', 'description', 'What is asked for.'),
      field('text', 'format', 'Form of its values.'),
      field('text', 'instructions', 'Instructions.'),
      created,
      updated,
    ],
  },
  {
    name: 'webset_items',
    is: 'Items of websets as they are now.',
    sources: [
      { payload: 'item', path: [] },
      { payload: 'webset', path: ['items', '*'] },
    ],
    columns: [
      webset,
      field('text', 'source', 'Where it came from: search or import.'),
      field('text', 'source_id', 'Id of that search or import.'),
      field('text', 'type', 'Kind of thing it is.', 'properties', 'type'),
      field('text', 'url', 'Address of the thing.', 'properties', 'url'),
      field('text', 'description', 'What it is.', 'properties', 'description'),
      created,
      updated,
    ],
  },
  {
    name: 'webset_monitors',
    is: 'Monitors of websets as they are now; these are no search monitors.',
    sources: [
      { payload: 'monitor', path: [], deletes: ['monitor.deleted'] },
      { payload: 'webset', path: ['monitors', '*'] },
    ],
    columns: [
      webset,
      status,
      field('text', 'cron', 'When it runs.', 'cadence', 'cron'),
      field('text', 'timezone', 'Time zone of that.', 'cadence', 'timezone'),
      field('text', 'behavior', 'What it does: search or refresh.', 'behavior', 'type'),
      field('time', 'next_run_at', 'When it runs next, UTC.'),
      created,
      updated,
    ],
  },
  {
    name: 'webset_monitor_runs',
    is: 'Runs of the monitors of websets as they are now.',
    sources: [
      { payload: 'monitor_run', path: [] },
      { payload: 'monitor', path: ['lastRun'] },
      { payload: 'webset', path: ['monitors', '*', 'lastRun'] },
    ],
    columns: [
      field('text', 'monitor_id', 'Monitor that ran.'),
      status,
      field('text', 'type', 'search or refresh.'),
      field('time', 'completed_at', 'When it completed, UTC.'),
      field('time', 'failed_at', 'When it failed, UTC.'),
      field('text', 'failed_reason', 'Why it failed.'),
      field('time', 'canceled_at', 'When it was canceled, UTC.'),
      created,
      updated,
    ],
  },
  {
    name: 'webset_exports',
    is: 'Exports of websets as they are now. No public schema says what they hold: see data.',
    sources: [{ payload: 'export', path: [] }],
    columns: [webset, status, field('text', 'format', 'Format of the file.'), created, updated],
  },
];

/** Tables of the parts of objects. */
export const partTables: readonly PartTable[] = [
  {
    name: 'webset_item_enrichments',
    is: 'What enrichments found for items, as it is now.',
    of: 'webset_items',
    owner: 'item_id',
    path: 'enrichments',
    columns: [
      field('text', 'enrichment_id', 'Column that it fills.'),
      status,
      field('text', 'format', 'Form of its values.'),
      field('text', 'value', 'The first of them.', 'result', '0'),
      field('text', 'reasoning', 'Why these.'),
    ],
  },
];
