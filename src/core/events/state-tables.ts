import { common, field, type PartTable, type StateTable } from './state-table.js';

const { status, webset, created, updated } = common;

/** Current state of all objects in events (API reference: /websets/v0/websets). */
export const stateTables: readonly StateTable[] = [
  {
    name: 'websets',
    is: 'Current state of websets.',
    row: 'one webset',
    sources: [{ payload: 'webset', path: [], deletes: ['webset.deleted'] }],
    columns: [
      status,
      field('text', 'external_id', 'Id that the user gave it.'),
      field('text', 'title', 'Title.'),
      created,
      updated,
    ],
  },
  {
    name: 'webset_searches',
    is: 'Current state of the searches of websets.',
    row: 'one search',
    sources: [
      { payload: 'search', path: [] },
      { payload: 'webset', path: ['searches', '*'] },
    ],
    columns: [
      webset,
      status,
      field('text', 'query', 'Search query.'),
      field('text', 'entity_type', 'Type of the entities that are searched for.', 'entity', 'type'),
      field('integer', 'count', 'Number of items wanted.'),
      field('number', 'found', 'Number of items found.', 'progress', 'found'),
      field('number', 'analyzed', 'Number of candidates analyzed.', 'progress', 'analyzed'),
      field('number', 'completion', 'Percentage done.', 'progress', 'completion'),
      field('number', 'expected_total', 'Estimated number of matches.', 'recall', 'expected', 'total'),
      field('text', 'behavior', 'Whether the search adds items to the webset or replaces them.'),
      field('time', 'canceled_at', 'When it was canceled, UTC.'),
      field('text', 'canceled_reason', 'Why it was canceled.'),
      created,
      updated,
    ],
  },
  {
    name: 'webset_imports',
    is: 'Current state of imports into websets.',
    row: 'one import',
    sources: [
      { payload: 'import', path: [] },
      { payload: 'webset', path: ['imports', '*'] },
    ],
    columns: [
      status,
      field('text', 'format', 'Format of the imported data.'),
      field('text', 'entity_type', 'Type of the imported entities.', 'entity', 'type'),
      field('text', 'title', 'Title.'),
      field('integer', 'count', 'Number of imported rows.'),
      field('text', 'failed_reason', 'Why it failed, as a code.'),
      field('text', 'failed_message', 'Why it failed, as a text.'),
      field('time', 'failed_at', 'When it failed, UTC.'),
      created,
      updated,
    ],
  },
  {
    name: 'webset_enrichments',
    is: 'Current state of the enrichments of websets: columns that a webset fills for its items. They are part of the events of their webset.',
    row: 'one enrichment of a webset',
    sources: [
      { payload: 'enrichment', path: [] },
      { payload: 'webset', path: ['enrichments', '*'] },
    ],
    columns: [
      webset,
      status,
      field('text', 'title', 'Title.'),
      field('text', 'description', 'Description of the wanted values.'),
      field('text', 'format', 'Format of its values.'),
      field('text', 'instructions', 'Instructions.'),
      created,
      updated,
    ],
  },
  {
    name: 'webset_items',
    is: 'Current state of the items of websets.',
    row: 'one item',
    sources: [
      { payload: 'item', path: [] },
      { payload: 'webset', path: ['items', '*'] },
    ],
    columns: [
      webset,
      field('text', 'source', 'Its source: search or import.'),
      field('id', 'source_id', 'Id of its search or import.'),
      field('text', 'type', 'Type of the entity.', 'properties', 'type'),
      field('text', 'url', 'URL of the entity.', 'properties', 'url'),
      field('text', 'description', 'Description of the entity.', 'properties', 'description'),
      created,
      updated,
    ],
  },
  {
    name: 'webset_monitors',
    is: 'Current state of the monitors of websets; these are not search monitors.',
    row: 'one webset monitor',
    sources: [
      { payload: 'monitor', path: [], deletes: ['monitor.deleted'] },
      { payload: 'webset', path: ['monitors', '*'] },
    ],
    columns: [
      webset,
      status,
      field('text', 'cron', 'Cron expression of its runs.', 'cadence', 'cron'),
      field('text', 'timezone', 'Time zone of the cron expression.', 'cadence', 'timezone'),
      field('text', 'behavior', 'Kind of its runs: search or refresh.', 'behavior', 'type'),
      field('time', 'next_run_at', 'When it runs next, UTC.'),
      created,
      updated,
    ],
  },
  {
    name: 'webset_monitor_runs',
    is: 'Current state of the runs of webset monitors.',
    row: 'one run of a webset monitor',
    sources: [
      { payload: 'monitor_run', path: [] },
      { payload: 'monitor', path: ['lastRun'] },
      { payload: 'webset', path: ['monitors', '*', 'lastRun'] },
    ],
    columns: [
      field('id', 'monitor_id', 'Monitor that ran.'),
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
    is: 'Current state of exports of websets. Their schema is not documented: see data.',
    row: 'one export',
    sources: [{ payload: 'export', path: [] }],
    columns: [webset, status, field('text', 'format', 'Format of the file.'), created, updated],
  },
];

export const partTables: readonly PartTable[] = [
  {
    name: 'webset_item_enrichments',
    is: 'Current results of enrichments for items.',
    row: 'the result of one enrichment for one item',
    of: 'webset_items',
    owner: 'item_id',
    path: 'enrichments',
    columns: [
      field('id', 'enrichment_id', 'Enrichment that it belongs to.'),
      status,
      field('text', 'format', 'Format of its values.'),
      field('text', 'value', 'First value.', 'result', '0'),
      field('text', 'reasoning', 'Reasoning for the values.'),
    ],
  },
];
