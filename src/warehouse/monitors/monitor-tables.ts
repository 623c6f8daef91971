import type { MonitorColumn, MonitorDialect, MonitorTable } from './monitor-sql.js';

const text = (name: string, is: string, required = false): MonitorColumn => ({ name, type: 'text', is, required });
const time = (name: string, is: string): MonitorColumn => ({ name, type: 'time', is });
const integer = (name: string, is: string): MonitorColumn => ({ name, type: 'integer', is });
const json = (name: string, is: string): MonitorColumn => ({ name, type: 'json', is });

const origin = text('origin', 'Base URL of the service, or sandbox: its data is never real.', true);
const job = text('job', 'Name of the batch: the same for the same action and filter.', true);
const run = text('run', 'Id of the workflow run, since a batch may run again.', true);
const monitorId = text('monitor_id', 'The monitor.', true);
const schedule = text('schedule', 'Name of the quiet hours.', true);

export const batches: MonitorTable = {
  name: 'monitor_batches',
  is: 'Batches that paused, unpaused or deleted monitors, or were to.',
  key: ['origin', 'job', 'run'],
  columns: [
    origin,
    job,
    run,
    text('action', 'pause, unpause or delete.', true),
    json('filter', 'Which monitors were meant.'),
    text('asked_by', 'Who asked for it.'),
    time('planned_at', 'When the plan was made, UTC.'),
    text('decided_by', 'Who approved or rejected it.'),
    text('decided_why', 'Why.'),
    integer('approved', '1 where it was approved, 0 where it was rejected.'),
    time('decided_at', 'When, UTC.'),
    text('phase', 'How it ended: done, rejected, expired, failed, cancelled; NULL before that.'),
    time('ended_at', 'When it ended, UTC.'),
  ],
};

export const actions: MonitorTable = {
  name: 'monitor_actions',
  is: 'The audit of batches: a line for each monitor of a plan, and each that was affected besides.',
  key: ['origin', 'job', 'run', 'monitor_id'],
  columns: [
    origin,
    job,
    run,
    monitorId,
    text('name', 'Its name.'),
    text('action', 'pause, unpause or delete.', true),
    integer(
      'planned',
      '1 where it was to be affected; 0 where it was already so, or was affected though not in the plan.',
    ),
    text('before_status', 'Its status when the plan was made.'),
    text('before_updated_at', 'Its updatedAt then, as the service told it.'),
    text('before_definition', 'Digest of what its owner said of it then: name, search, trigger and so on.'),
    text('after_status', 'Its status at the end; NULL where it is gone.'),
    text('after_updated_at', 'Its updatedAt at the end.'),
    time('affected_at', 'When our call affected it, UTC; NULL where none did.'),
    integer('call_number', 'Number of that call in the run.'),
    integer('again_call', 'Number of a later call that affected it again: somebody else had undone it in between.'),
    text(
      'request_id',
      'Request id of that call; NULL where its answer was lost and a look at the list showed what it did.',
    ),
    text('approved_by', 'Who approved it.'),
    text(
      'effect',
      'affected, unplanned, missed or others (somebody else acted); already where nothing was to be done.',
    ),
    text('note', 'What is to be known of it, in words.'),
  ],
};

export const quietMarks: MonitorTable = {
  name: 'monitor_quiet_marks',
  is: 'How far each schedule of quiet hours is.',
  key: ['origin', 'schedule'],
  columns: [
    origin,
    schedule,
    text('quiet_window', 'Date on which the hours began that it is at.', true),
    text('state', 'beginning, begun or ended.', true),
  ],
};

export const quietMonitors: MonitorTable = {
  name: 'monitor_quiet',
  is: 'Monitors that quiet hours paused themselves and are to put back.',
  key: ['origin', 'schedule', 'monitor_id'],
  columns: [
    origin,
    schedule,
    monitorId,
    text('name', 'Its name.'),
    text('quiet_window', 'The hours it was paused for, by the date they began.', true),
    text('state', 'pausing, paused or unpausing.', true),
    text('before_updated_at', 'Its updatedAt before the pause, as the service told it.'),
    text('after_updated_at', 'Its updatedAt behind the pause.'),
    text('kept_by', 'Who paused it, too: it then stays paused.'),
  ],
};

export const quietReports: MonitorTable = {
  name: 'monitor_quiet_reports',
  is: 'Monitors that quiet hours left alone because somebody else had changed them.',
  key: [],
  columns: [
    origin,
    schedule,
    time('reported_at', 'When, UTC.'),
    monitorId,
    text('name', 'Its name.'),
    text('what', 'Why it was left alone.'),
  ],
};

export const monitors: MonitorTable = {
  name: 'monitors',
  is: 'Search monitors as they were when they were exported last.',
  key: ['origin', 'id'],
  columns: [
    origin,
    text('id', 'Id that the service gave it.', true),
    text('name', 'Its name.'),
    text('status', 'active, paused or disabled.'),
    text('query', 'What it searches for.'),
    json('trigger', 'Its schedule.'),
    json('metadata', 'Names and values of its owner.'),
    text('webhook_url', 'Where its results go.'),
    time('next_run_at', 'When it runs next, UTC.'),
    time('created_at', 'When it was made, UTC.'),
    time('updated_at', 'When it was changed last, UTC.'),
    json('data', 'The whole record, with fields that have no column here; never its webhook secret.'),
    time('seen_at', 'When it was exported last, UTC.'),
    time('gone_at', 'Since when it is no longer there, UTC.'),
    text('export_mark', 'The export that saw it last.'),
    text('read_mark', 'The export that read its runs last.'),
  ],
};

export const runs: MonitorTable = {
  name: 'monitor_runs',
  is: 'Runs of monitors, with their output.',
  key: ['origin', 'monitor_id', 'id'],
  columns: [
    origin,
    monitorId,
    text('id', 'Id that the service gave it.', true),
    text('status', 'pending, running, completed, failed or cancelled, and whatever else the service says.'),
    text('fail_reason', 'Why it failed.'),
    integer('results', 'How many results it found.'),
    text('content', 'Its synthesised output: text, or JSON where it is an object.'),
    time('created_at', 'When it was created, UTC.'),
    time('started_at', 'When it began, UTC.'),
    time('completed_at', 'When it was complete, UTC.'),
    time('failed_at', 'When it failed, UTC.'),
    time('cancelled_at', 'When it was cancelled, UTC.'),
    integer('duration_ms', 'How long it took, as the service says.'),
    time('updated_at', 'When it changed last, UTC.'),
    json('data', 'The whole record, with its output and with fields that have no column here.'),
    integer('is_over', '1 where it has come to its end; else it is looked at again.'),
    integer('is_reached', '1 where all older runs of the monitor are loaded, too.'),
    time('loaded_at', 'When it was loaded last, UTC.'),
    text('added_mark', 'The export that loaded it first.'),
    text('loaded_mark', 'The export that loaded it last.'),
  ],
};

export const results: MonitorTable = {
  name: 'monitor_run_results',
  is: 'What runs of monitors found, a line a result.',
  key: ['origin', 'monitor_id', 'run_id', 'rank'],
  columns: [
    origin,
    monitorId,
    text('run_id', 'The run.', true),
    integer('rank', 'Place in the output, from 1.'),
    text('url', 'Address of the page.'),
    text('title', 'Title of the page.'),
    text('author', 'Author of the page.'),
    text('published_date', 'Date of the page as the service gives it.'),
    text('text', 'Text of the page, where the monitor asks for it.'),
    text('summary', 'Summary of the page, where the monitor asks for it.'),
    json('data', 'The whole result.'),
  ],
};

/** All tables for monitors, in the order of the data dictionary. */
export const monitorTables: readonly MonitorTable[] = [
  monitors,
  runs,
  results,
  batches,
  actions,
  quietMonitors,
  quietMarks,
  quietReports,
];

/** Statements that make them, with a comment on everything. `prefix`: the schema with its dot, or nothing; `keys`: whether they get keys. */
export function makeMonitorTables({ types }: MonitorDialect, prefix: string, keys: boolean): string {
  const quoted = (sentence: string) => `'${sentence.replaceAll("'", "''")}'`;
  return monitorTables
    .flatMap(({ name, is, key, columns }) => {
      const lines = columns.map((one) => `  ${one.name} ${types[one.type]}${one.required ? ' NOT NULL' : ''}`);
      if (keys && key.length > 0) lines.push(`  PRIMARY KEY (${key.join(', ')})`);
      return [
        `CREATE TABLE ${prefix}${name} (\n${lines.join(',\n')}\n);`,
        `COMMENT ON TABLE ${prefix}${name} IS ${quoted(is)};`,
        ...columns.map((one) => `COMMENT ON COLUMN ${prefix}${name}.${one.name} IS ${quoted(one.is)};`),
      ];
    })
    .join('\n');
}
