import { commentsOn, createTable, type Relation, type RelationColumn, type TableStyle } from '../shared/relation.js';

const text = (name: string, is: string, required = false): RelationColumn => ({ name, type: 'text', is, required });
const time = (name: string, is: string): RelationColumn => ({ name, type: 'time', is });
const integer = (name: string, is: string): RelationColumn => ({ name, type: 'integer', is });
const json = (name: string, is: string): RelationColumn => ({ name, type: 'json', is });

const origin = text('origin', 'Base URL of the service, or sandbox: its data is never real.', true);
const job = text('job', 'Name of the batch: the same for the same action and filter.', true);
const run = text('run', 'Id of the workflow run; a batch may run again.', true);
const monitorId = text('monitor_id', 'Id of the monitor.', true);
const schedule = text('schedule', 'Name of the quiet hours.', true);

export const batches: Relation = {
  kind: 'TABLE',
  name: 'monitor_batches',
  is: 'Batches that pause, unpause or delete monitors, with their plan and approval.',
  key: ['origin', 'job', 'run'],
  columns: [
    origin,
    job,
    run,
    text('action', 'pause, unpause or delete.', true),
    json('filter', 'Filter of the monitors.'),
    text('asked_by', 'Person who started the batch.'),
    time('planned_at', 'Time of the plan, UTC.'),
    text('decided_by', 'Person who approved or rejected it.'),
    text('decided_why', 'Reason of the decision.'),
    integer('approved', '1 if it was approved, 0 if it was rejected.'),
    time('decided_at', 'Time of the decision, UTC.'),
    text('phase', 'Final state: done, rejected, expired, failed, cancelled; NULL before the end.'),
    time('ended_at', 'Time of the end, UTC.'),
  ],
};

export const actions: Relation = {
  kind: 'TABLE',
  name: 'monitor_actions',
  is: 'The audit of batches: a row for each monitor of a plan, and for each affected monitor outside of it.',
  key: ['origin', 'job', 'run', 'monitor_id'],
  columns: [
    origin,
    job,
    run,
    monitorId,
    text('name', 'Name of the monitor.'),
    text('action', 'pause, unpause or delete.', true),
    integer(
      'planned',
      '1 if the plan changes the monitor; 0 if it already had the status that the action sets, or a call affected it outside of the plan.',
    ),
    text('before_status', 'Its status at the time of the plan.'),
    text('before_updated_at', 'Its updatedAt at the time of the plan, as the service returned it.'),
    text('before_definition', 'Digest of its settings at the time of the plan: name, search, trigger and others.'),
    text('after_status', 'Its status at the end; NULL if it no longer exists.'),
    text('after_updated_at', 'Its updatedAt at the end.'),
    time('affected_at', 'Time of the call that affected it, UTC; NULL if no call did.'),
    integer('call_number', 'Number of the call in the run.'),
    integer(
      'again_call',
      'Number of a later call that affected it again, after another person had reverted the first.',
    ),
    text(
      'request_id',
      'Request id of the call; NULL if its answer was lost and the list of monitors showed its effect.',
    ),
    text('approved_by', 'Person who approved it.'),
    text('effect', 'affected, unplanned, missed, others (changed by another person) or already (no change needed).'),
    text('note', 'Note on the effect.'),
  ],
};

export const quietMarks: Relation = {
  kind: 'TABLE',
  name: 'monitor_quiet_marks',
  is: 'State of each schedule of quiet hours.',
  key: ['origin', 'schedule'],
  columns: [
    origin,
    schedule,
    text('quiet_window', 'Start date of its current or last quiet hours.', true),
    text('state', 'beginning, begun or ended.', true),
  ],
};

export const quietMonitors: Relation = {
  kind: 'TABLE',
  name: 'monitor_quiet',
  is: 'Monitors that quiet hours have paused and will unpause.',
  key: ['origin', 'schedule', 'monitor_id'],
  columns: [
    origin,
    schedule,
    monitorId,
    text('name', 'Name of the monitor.'),
    text('quiet_window', 'Start date of the quiet hours that paused it.', true),
    text('state', 'pausing, paused or unpausing.', true),
    text('before_updated_at', 'Its updatedAt before the pause, as the service returned it.'),
    text('after_updated_at', 'Its updatedAt after the pause.'),
    text('kept_by', 'Person who also paused the monitor; quiet hours then do not unpause it.'),
  ],
};

export const quietReports: Relation = {
  kind: 'TABLE',
  name: 'monitor_quiet_reports',
  is: 'Monitors that quiet hours left alone because another person had changed them.',
  key: [],
  columns: [
    origin,
    schedule,
    time('reported_at', 'Time of the report, UTC.'),
    monitorId,
    text('name', 'Name of the monitor.'),
    text('what', 'Reason why it was left alone.'),
  ],
};

export const monitors: Relation = {
  kind: 'TABLE',
  name: 'monitors',
  is: 'Monitors as they were at their last export.',
  key: ['origin', 'id'],
  columns: [
    origin,
    text('id', 'Id at the service.', true),
    text('name', 'Name of the monitor.'),
    text('status', 'active, paused or disabled.'),
    text('query', 'Query of its search.'),
    json('trigger', 'Its schedule.'),
    json('metadata', 'Metadata: names and values set by its owner.'),
    text('webhook_url', 'URL of its webhook.'),
    time('next_run_at', 'Time of its next run, UTC.'),
    time('created_at', 'Time of its creation, UTC.'),
    time('updated_at', 'Time of its last change, UTC.'),
    json('data', 'The whole record, including fields without a column, except its webhook secret.'),
    time('seen_at', 'Time of its last export, UTC.'),
    time('gone_at', 'Time since which the service no longer returns it, UTC.'),
    text('export_mark', 'The last export that listed it.'),
    text('read_mark', 'The last export that read its runs.'),
  ],
};

export const runs: Relation = {
  kind: 'TABLE',
  name: 'monitor_runs',
  is: 'Runs of monitors, with their output.',
  key: ['origin', 'monitor_id', 'id'],
  columns: [
    origin,
    monitorId,
    text('id', 'Id at the service.', true),
    text('status', 'pending, running, completed, failed, cancelled, or another status of the service.'),
    text('fail_reason', 'Reason of the failure.'),
    integer('results', 'Number of its results.'),
    text('content', 'Its synthesised output: text, or JSON if it is an object.'),
    time('created_at', 'Time of its creation, UTC.'),
    time('started_at', 'Start of the run, UTC.'),
    time('completed_at', 'Time of its completion, UTC.'),
    time('failed_at', 'Time of its failure, UTC.'),
    time('cancelled_at', 'Time of its cancellation, UTC.'),
    integer('duration_ms', 'Duration in milliseconds, as the service returned it.'),
    time('updated_at', 'Time of its last change, UTC.'),
    json('data', 'The whole record, including its output and fields without a column.'),
    integer('is_over', '1 if the run has ended; otherwise the next export reads it again.'),
    integer('is_reached', '1 if all older runs of the monitor are loaded, too.'),
    time('loaded_at', 'Time of its last load, UTC.'),
    text('added_mark', 'The first export that loaded it.'),
    text('loaded_mark', 'The last export that loaded it.'),
  ],
};

export const results: Relation = {
  kind: 'TABLE',
  name: 'monitor_run_results',
  is: 'Results of the runs of monitors, a row for each result.',
  key: ['origin', 'monitor_id', 'run_id', 'rank'],
  columns: [
    origin,
    monitorId,
    text('run_id', 'Id of the run.', true),
    integer('rank', 'Position in the output, from 1.'),
    text('url', 'URL of the page.'),
    text('title', 'Title of the page.'),
    text('author', 'Author of the page.'),
    text('published_date', 'Date of the page, as the service returned it.'),
    text('text', 'Text of the page, if the monitor requests it.'),
    text('summary', 'Summary of the page, if the monitor requests it.'),
    json('data', 'The whole result.'),
  ],
};

/** All tables for monitors, in the order of the data dictionary. */
export const monitorTables: readonly Relation[] = [
  monitors,
  runs,
  results,
  batches,
  actions,
  quietMonitors,
  quietMarks,
  quietReports,
];

/** Statements that create the tables, with all comments. */
export function makeMonitorTables(style: TableStyle): string {
  return [...monitorTables.map((table) => createTable(table, style)), commentsOn(monitorTables, style.prefix)].join(
    '\n',
  );
}
