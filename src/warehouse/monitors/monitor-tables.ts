import { originColumn, type Relation, tableColumns } from '../shared/relation.js';

const job = 'job text! Name of the batch: the same for the same action and filter.';
const run = 'run text! Id of the workflow run; a batch may run again.';
const monitorId = 'monitor_id id! Id of the monitor.';

export const batches: Relation = {
  name: 'monitor_batches',
  is: 'Batches that pause, unpause or delete monitors, with their plan and approval.',
  row: 'one run of a batch',
  key: ['origin', 'job', 'run'],
  columns: tableColumns(`
    ${originColumn}
    ${job}
    ${run}
    action text! pause, unpause or delete.
    filter json Filter of the monitors.
    asked_by text Person who started the batch.
    planned_at time Time of the plan, UTC.
    decided_by text Person who approved or rejected it.
    decided_why text Reason of the decision.
    approved integer 1 if it was approved, 0 if it was rejected.
    decided_at time Time of the decision, UTC.
    phase text Final state: done, rejected, expired, failed, cancelled; NULL before the end.
    ended_at time Time of the end, UTC.
    schedule text Schedule that started it, or whose pauses it ends; NULL if there is none.
  `),
};

export const actions: Relation = {
  name: 'monitor_actions',
  is: 'The audit of batches: a row for each monitor of a plan, and for each affected monitor outside of it.',
  row: 'one monitor in one run of a batch',
  key: ['origin', 'job', 'run', 'monitor_id'],
  columns: tableColumns(`
    ${originColumn}
    ${job}
    ${run}
    ${monitorId}
    name text Name of the monitor.
    action text! pause, unpause or delete.
    planned integer 1 if the plan changes the monitor; 0 if it already had the status that the action sets, or a call affected it outside of the plan.
    before_status text Its status at the time of the plan.
    before_updated_at text Its updatedAt at the time of the plan, as the service returned it.
    before_definition text Digest of its settings at the time of the plan: name, search, trigger and others.
    after_status text Its status at the end; NULL if it no longer exists.
    after_updated_at text Its updatedAt at the end.
    affected_at time Time of the call that affected it, UTC; NULL if no call did.
    call_number integer Number of the call in the run.
    again_call integer Number of a later call that affected it again, after another person had reverted the first.
    request_id text Request id of the call; NULL if its answer was lost and the list of monitors showed its effect.
    approved_by text Person who approved it.
    effect text affected, unplanned, missed, others (changed by another person) or already (no change needed).
    note text Note on the effect.
  `),
};

export const monitors: Relation = {
  name: 'monitors',
  is: 'Monitors as they were at their last export.',
  row: 'one monitor',
  key: ['origin', 'id'],
  columns: tableColumns(`
    ${originColumn}
    id id! Id at the service.
    name text Name of the monitor.
    status text active, paused or disabled.
    query text Query of its search.
    trigger json Its schedule.
    metadata json Metadata: names and values set by its owner.
    webhook_url text URL of its webhook.
    next_run_at time Time of its next run, UTC.
    created_at time Time of its creation, UTC.
    updated_at time Time of its last change, UTC.
    data json The whole record, including fields without a column, except its webhook secret.
    seen_at time Time of its last export, UTC.
    gone_at time Time since which the service no longer returns it, UTC.
    export_mark text The last export that listed it.
    read_mark text The last export that read its runs.
  `),
};

export const runs: Relation = {
  name: 'monitor_runs',
  is: 'Runs of monitors, with their output.',
  row: 'one run of one monitor',
  key: ['origin', 'monitor_id', 'id'],
  columns: tableColumns(`
    ${originColumn}
    ${monitorId}
    id id! Id at the service.
    status text pending, running, completed, failed, cancelled, or another status of the service.
    fail_reason text Reason of the failure.
    results integer Number of its results.
    content text Its synthesised output: text, or JSON if it is an object.
    created_at time Time of its creation, UTC.
    started_at time Start of the run, UTC.
    completed_at time Time of its completion, UTC.
    failed_at time Time of its failure, UTC.
    cancelled_at time Time of its cancellation, UTC.
    duration_ms integer Duration in milliseconds, as the service returned it.
    updated_at time Time of its last change, UTC.
    data json The whole record, including its output and fields without a column.
    is_over integer 1 if the run has ended; otherwise the next export reads it again.
    is_reached integer 1 if all older runs of the monitor are loaded, too.
    loaded_at time Time of its last load, UTC.
    added_mark text The first export that loaded it.
    loaded_mark text The last export that loaded it.
  `),
};

export const results: Relation = {
  name: 'monitor_run_results',
  is: 'Results of the runs of monitors, a row for each result.',
  row: 'one result of one run of a monitor',
  key: ['origin', 'monitor_id', 'run_id', 'rank'],
  columns: tableColumns(`
    ${originColumn}
    ${monitorId}
    run_id id! Id of the run.
    rank integer Position in the output, from 1.
    url text URL of the page.
    title text Title of the page.
    author text Author of the page.
    published_date text Date of the page, as the service returned it.
    text text Text of the page, if the monitor requests it.
    summary text Summary of the page, if the monitor requests it.
    data json The whole result.
  `),
};

export const monitorTables: readonly Relation[] = [monitors, runs, results, batches, actions];
