import { column, commentsOn, createTable, type Relation, required, type TableStyle } from './shared/relation.js';

const origin = required('text', 'origin', 'Base URL of the service, or sandbox: its data is never real.');

export const agentRuns: Relation = {
  kind: 'TABLE',
  name: 'agent_runs',
  is: 'Agent runs of the team, with their output, usage and cost, whichever client started them.',
  row: 'one agent run',
  key: ['origin', 'id'],
  columns: [
    origin,
    required('id', 'id', 'Id at the service.'),
    column('text', 'status', 'queued, running, completed, failed, cancelled, or another status of the service.'),
    column('text', 'stop_reason', 'Why the run ended, as the service returned it.'),
    column('text', 'query', 'Question or task of its request.'),
    column('text', 'effort', 'Effort of its request, which decides its price; NULL: the default.'),
    column('id', 'previous_run_id', 'The run that it continues.'),
    column('json', 'metadata', 'Metadata of its request.'),
    column('json', 'request', 'The whole request, as the service returned it.'),
    column('text', 'output_text', 'Its output as text.'),
    column('json', 'output', 'Its structured output.'),
    column('integer', 'citations', 'Number of its citations.'),
    column(
      'number',
      'agent_compute_units',
      'Compute that it used. Usage may have fractions if a budget ended the run.',
    ),
    column('number', 'searches', 'Searches that it used.'),
    column('number', 'emails', 'E-mail addresses that it found.'),
    column('number', 'phone_numbers', 'Phone numbers that it found.'),
    column('json', 'usage', 'Its whole usage, with data sources.'),
    column('long', 'cost_micros', 'Its cost, in millionths of a dollar; NULL: not charged yet.'),
    column('json', 'cost', 'Its cost in dollars by kind.'),
    column('json', 'error', 'Error of a failed run.'),
    column('time', 'created_at', 'Time of its creation, UTC.'),
    column('time', 'completed_at', 'Time of its end, UTC.'),
    column('json', 'data', 'The whole record, including fields without a column.'),
    column('integer', 'is_over', '1 if the run has ended; otherwise the next sync reads it again.'),
    column('time', 'loaded_at', 'Time of its last change here, UTC.'),
    column('time', 'gone_at', 'Time since which the service no longer returns it, UTC.'),
    column('text', 'added_mark', 'The sync that added it.'),
    column('text', 'read_mark', 'The last sync that read it.'),
  ],
};

export const agentRunCitations: Relation = {
  kind: 'TABLE',
  name: 'agent_run_citations',
  is: 'Sources of the outputs of agent runs.',
  row: 'one citation of one field of the output of an agent run',
  key: ['origin', 'run_id', 'rank'],
  columns: [
    origin,
    required('id', 'run_id', 'Id of the run.'),
    column('integer', 'rank', 'Position among the citations of the run, from 1.'),
    column('text', 'field', 'Field of the output that it supports.'),
    column('text', 'confidence', 'Confidence of the service in the field.'),
    column('text', 'url', 'URL of the source.'),
    column('text', 'title', 'Title of the source.'),
  ],
};

export const agentRunSyncs: Relation = {
  kind: 'TABLE',
  name: 'agent_run_syncs',
  is: 'State of the sync of agent runs.',
  row: 'one service',
  key: ['origin'],
  columns: [
    origin,
    column('time', 'watermark', 'All runs that were created up to this time are loaded, UTC.'),
    column('time', 'swept_at', 'Time of the last sync that also read the last two days again, UTC.'),
    column('time', 'completed_at', 'End of the last complete sync, UTC.'),
  ],
};

/** All tables for agent runs, in the order of the data dictionary. */
export const agentRunTables: readonly Relation[] = [agentRuns, agentRunCitations, agentRunSyncs];

/** Statements that create the tables, with all comments. */
export function makeAgentRunTables(style: TableStyle): string {
  return [...agentRunTables.map((table) => createTable(table, style)), commentsOn(agentRunTables, style.prefix)].join(
    '\n',
  );
}
