import { column, type Relation, required } from '../shared/relation.js';

const origin = required('text', 'origin', 'Base URL of the service, or sandbox: its data is never real.');
const job = required('text', 'job', 'Name of the batch: the same for the same action and filter.');
const run = required('text', 'run', 'Id of the workflow run; a batch may run again.');
const monitorId = required('id', 'monitor_id', 'Id of the monitor.');

export const batches: Relation = {
  kind: 'TABLE',
  name: 'monitor_batches',
  is: 'Batches that pause, unpause or delete monitors, with their plan and approval.',
  row: 'one run of a batch',
  key: ['origin', 'job', 'run'],
  columns: [
    origin,
    job,
    run,
    required('text', 'action', 'pause, unpause or delete.'),
    column('json', 'filter', 'Filter of the monitors.'),
    column('text', 'asked_by', 'Person who started the batch.'),
    column('time', 'planned_at', 'Time of the plan, UTC.'),
    column('text', 'decided_by', 'Person who approved or rejected it.'),
    column('text', 'decided_why', 'Reason of the decision.'),
    column('integer', 'approved', '1 if it was approved, 0 if it was rejected.'),
    column('time', 'decided_at', 'Time of the decision, UTC.'),
    column('text', 'phase', 'Final state: done, rejected, expired, failed, cancelled; NULL before the end.'),
    column('time', 'ended_at', 'Time of the end, UTC.'),
    column('text', 'schedule', 'Schedule that started it, or whose pauses it ends; NULL if there is none.'),
  ],
};

export const actions: Relation = {
  kind: 'TABLE',
  name: 'monitor_actions',
  is: 'The audit of batches: a row for each monitor of a plan, and for each affected monitor outside of it.',
  row: 'one monitor in one run of a batch',
  key: ['origin', 'job', 'run', 'monitor_id'],
  columns: [
    origin,
    job,
    run,
    monitorId,
    column('text', 'name', 'Name of the monitor.'),
    required('text', 'action', 'pause, unpause or delete.'),
    column(
      'integer',
      'planned',
      '1 if the plan changes the monitor; 0 if it already had the status that the action sets, or a call affected it outside of the plan.',
    ),
    column('text', 'before_status', 'Its status at the time of the plan.'),
    column('text', 'before_updated_at', 'Its updatedAt at the time of the plan, as the service returned it.'),
    column(
      'text',
      'before_definition',
      'Digest of its settings at the time of the plan: name, search, trigger and others.',
    ),
    column('text', 'after_status', 'Its status at the end; NULL if it no longer exists.'),
    column('text', 'after_updated_at', 'Its updatedAt at the end.'),
    column('time', 'affected_at', 'Time of the call that affected it, UTC; NULL if no call did.'),
    column('integer', 'call_number', 'Number of the call in the run.'),
    column(
      'integer',
      'again_call',
      'Number of a later call that affected it again, after another person had reverted the first.',
    ),
    column(
      'text',
      'request_id',
      'Request id of the call; NULL if its answer was lost and the list of monitors showed its effect.',
    ),
    column('text', 'approved_by', 'Person who approved it.'),
    column(
      'text',
      'effect',
      'affected, unplanned, missed, others (changed by another person) or already (no change needed).',
    ),
    column('text', 'note', 'Note on the effect.'),
  ],
};

export const monitors: Relation = {
  kind: 'TABLE',
  name: 'monitors',
  is: 'Monitors as they were at their last export.',
  row: 'one monitor',
  key: ['origin', 'id'],
  columns: [
    origin,
    required('id', 'id', 'Id at the service.'),
    column('text', 'name', 'Name of the monitor.'),
    column('text', 'status', 'active, paused or disabled.'),
    column('text', 'query', 'Query of its search.'),
    column('json', 'trigger', 'Its schedule.'),
    column('json', 'metadata', 'Metadata: names and values set by its owner.'),
    column('text', 'webhook_url', 'URL of its webhook.'),
    column('time', 'next_run_at', 'Time of its next run, UTC.'),
    column('time', 'created_at', 'Time of its creation, UTC.'),
    column('time', 'updated_at', 'Time of its last change, UTC.'),
    column('json', 'data', 'The whole record, including fields without a column, except its webhook secret.'),
    column('time', 'seen_at', 'Time of its last export, UTC.'),
    column('time', 'gone_at', 'Time since which the service no longer returns it, UTC.'),
    column('text', 'export_mark', 'The last export that listed it.'),
    column('text', 'read_mark', 'The last export that read its runs.'),
  ],
};

export const runs: Relation = {
  kind: 'TABLE',
  name: 'monitor_runs',
  is: 'Runs of monitors, with their output.',
  row: 'one run of one monitor',
  key: ['origin', 'monitor_id', 'id'],
  columns: [
    origin,
    monitorId,
    required('id', 'id', 'Id at the service.'),
    column('text', 'status', 'pending, running, completed, failed, cancelled, or another status of the service.'),
    column('text', 'fail_reason', 'Reason of the failure.'),
    column('integer', 'results', 'Number of its results.'),
    column('text', 'content', 'Its synthesised output: text, or JSON if it is an object.'),
    column('time', 'created_at', 'Time of its creation, UTC.'),
    column('time', 'started_at', 'Start of the run, UTC.'),
    column('time', 'completed_at', 'Time of its completion, UTC.'),
    column('time', 'failed_at', 'Time of its failure, UTC.'),
    column('time', 'cancelled_at', 'Time of its cancellation, UTC.'),
    column('integer', 'duration_ms', 'Duration in milliseconds, as the service returned it.'),
    column('time', 'updated_at', 'Time of its last change, UTC.'),
    column('json', 'data', 'The whole record, including its output and fields without a column.'),
    column('integer', 'is_over', '1 if the run has ended; otherwise the next export reads it again.'),
    column('integer', 'is_reached', '1 if all older runs of the monitor are loaded, too.'),
    column('time', 'loaded_at', 'Time of its last load, UTC.'),
    column('text', 'added_mark', 'The first export that loaded it.'),
    column('text', 'loaded_mark', 'The last export that loaded it.'),
  ],
};

export const results: Relation = {
  kind: 'TABLE',
  name: 'monitor_run_results',
  is: 'Results of the runs of monitors, a row for each result.',
  row: 'one result of one run of a monitor',
  key: ['origin', 'monitor_id', 'run_id', 'rank'],
  columns: [
    origin,
    monitorId,
    required('id', 'run_id', 'Id of the run.'),
    column('integer', 'rank', 'Position in the output, from 1.'),
    column('text', 'url', 'URL of the page.'),
    column('text', 'title', 'Title of the page.'),
    column('text', 'author', 'Author of the page.'),
    column('text', 'published_date', 'Date of the page, as the service returned it.'),
    column('text', 'text', 'Text of the page, if the monitor requests it.'),
    column('text', 'summary', 'Summary of the page, if the monitor requests it.'),
    column('json', 'data', 'The whole result.'),
  ],
};

/** All tables for monitors, in the order of the data dictionary. */
export const monitorTables: readonly Relation[] = [monitors, runs, results, batches, actions];
