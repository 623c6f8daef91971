import { partTables, stateTables } from '../../../core/events/state-tables.js';
import type { Schema } from '../../../postgres/index.js';
import { agentRunTables, makeAgentRunTables } from '../../agents/agent-run-tables.js';
import { eventTables } from '../../events/event-tables.js';
import { makeEventTables } from '../../events/make-tables.js';
import { makeMonitorTables, monitorTables } from '../../monitors/monitor-tables.js';
import { makeRowTables } from '../../rows/make-tables.js';
import { makeResultViews } from '../../rows/make-views.js';
import { rowTables } from '../../rows/row-tables.js';
import { postgresDialect, readers } from '../dialect/event-dialect.js';
import { postgresResults } from '../dialect/result-dialect.js';
import { postgresRowDialect } from '../dialect/row-dialect.js';
import { postgresTables } from '../dialect/sql-dialect.js';

/** All tables of a schema. */
export const tables = [...rowTables(true), ...eventTables(postgresDialect()), ...monitorTables, ...agentRunTables];

/** Large columns, which are compressed with lz4. */
const large = [
  ['row_store', 'response'],
  ...['events', ...[...stateTables, ...partTables].map(({ name }) => name)].map((table) => [table, 'data']),
] as const;

export const postgresSchema: Schema = {
  kind: 'warehouse',
  create(schema) {
    const prefix = `${schema}.`;
    const style = postgresTables(prefix);
    return [
      readers(prefix),
      makeRowTables(postgresRowDialect(prefix), style),
      makeEventTables(postgresDialect(prefix), style),
      makeMonitorTables(style),
      makeAgentRunTables(style),
      makeResultViews(postgresResults(prefix)),
      `CREATE INDEX row_store_place ON ${prefix}row_store (job, row_number);`,
      // A slice of a new run asks which of its units have an answer, from any job.
      `CREATE INDEX row_store_unit ON ${prefix}row_store USING hash (unit_key);`,
      // The second pass of a run and the commands for failed rows read only these rows of a job.
      `CREATE INDEX row_store_failed ON ${prefix}row_store (job, slice) WHERE status = 'error';`,
      `CREATE INDEX events_load ON ${prefix}events (load_id);`,
      `CREATE INDEX events_time ON ${prefix}events (origin, created_at);`,
      `CREATE INDEX events_item ON ${prefix}events (origin, item_id) WHERE item_id IS NOT NULL;`,
      `CREATE INDEX webset_item_enrichments_item ON ${prefix}webset_item_enrichments (origin, item_id);`,
      lz4(prefix),
    ].join('\n');
  },
  migrations: [
    {
      name: '0002-misfits',
      sql: (schema) => `
CREATE TABLE ${schema}.misfits (
  job text NOT NULL,
  row_number bigint NOT NULL,
  column_name text NOT NULL,
  value text NOT NULL,
  expected text NOT NULL,
  generation text NOT NULL,
  loaded_at timestamptz NOT NULL,
  PRIMARY KEY (job, row_number, column_name)
);
COMMENT ON TABLE ${schema}.misfits IS 'Values of answers that do not fit the type of their column, so that the view of the job has NULL there. The answers are kept whole. Each row: one value in one row of one job.';
COMMENT ON COLUMN ${schema}.misfits.job IS 'Id of the job.';
COMMENT ON COLUMN ${schema}.misfits.row_number IS 'Number of the row in the input, from 1.';
COMMENT ON COLUMN ${schema}.misfits.column_name IS 'Column of the view of the job.';
COMMENT ON COLUMN ${schema}.misfits.value IS 'First 200 characters of the value, as text.';
COMMENT ON COLUMN ${schema}.misfits.expected IS 'Type of the column: number, integer, boolean, date or time.';
COMMENT ON COLUMN ${schema}.misfits.generation IS 'Generation of the job that loaded the row.';
COMMENT ON COLUMN ${schema}.misfits.loaded_at IS 'Time of the load, UTC.';
COMMENT ON COLUMN ${schema}.searchflow_runs.reason IS 'Reason of a stopped run: budget, credits, key, rate, service, request, failed or person.';`,
    },
    {
      name: '0003-column-types',
      sql: (schema) => `
ALTER TABLE ${schema}.searchflow_jobs ADD COLUMN types text[];
COMMENT ON COLUMN ${schema}.searchflow_jobs.types IS 'Types of the columns of the input, in the words of DuckDB; NULL: the input is a CSV, whose cells are texts.';
COMMENT ON COLUMN ${schema}.row_store.input IS 'Cells of the row: the texts of a CSV, unchanged, or canonical texts of values. Their names are in searchflow_jobs.columns.';
COMMENT ON COLUMN ${schema}.enriched_rows.input IS 'Cells of the row: the texts of a CSV, unchanged, or canonical texts of values. Their names are in searchflow_jobs.columns.';`,
    },
    {
      name: '0004-earlier-versions',
      sql: (schema) => `
CREATE OR REPLACE VIEW ${schema}.enriched_rows AS
SELECT id, job, origin, generation, slice, row_number, row_hash, unit_key, url, input, status, error_tag, error_message, http_status, source, title, author, published_date, CASE WHEN error_message IS NULL OR json_typeof(response #> ARRAY['text']::text[]) = 'string' THEN (response #>> '{text}') END AS text, response -> 'highlights' AS highlights, CASE WHEN error_message IS NULL OR json_typeof(response #> ARRAY['summary']::text[]) = 'string' THEN (response #>> '{summary}') END AS summary, response, request_id, cost_micros, CAST(CAST(cost_micros AS DECIMAL(18, 0)) * CAST(0.000001 AS DECIMAL(7, 6)) AS DECIMAL(18, 6)) AS cost_dollars, fetched_at, loaded_at, outdated_at, vanished_at, row_exact, answer_exact
FROM ${schema}.row_store
WHERE vanished_at IS NULL OR outdated_at IS NULL OR length(row_hash) = 16;
COMMENT ON COLUMN ${schema}.row_store.row_hash IS 'Start of the SHA-256 of the cells; in a job with a key, after the start of that of the key.';
COMMENT ON COLUMN ${schema}.row_store.outdated_at IS 'Time since which the job has other options, so that this answer will be replaced, UTC. If vanished_at is set, too: an earlier version of a row of a job with a key, which is kept in case that the edit is undone; enriched_rows omits it.';
COMMENT ON COLUMN ${schema}.enriched_rows.row_hash IS 'Start of the SHA-256 of the cells; in a job with a key, after the start of that of the key.';
COMMENT ON COLUMN ${schema}.enriched_rows.outdated_at IS 'Time since which the job has other options, so that this answer will be replaced, UTC. If vanished_at is set, too: an earlier version of a row of a job with a key, which is kept in case that the edit is undone; enriched_rows omits it.';`,
    },
    {
      name: '0005-quarantine',
      sql: (schema) => `
ALTER TABLE ${schema}.searchflow_jobs ADD COLUMN on_misfit text;
ALTER TABLE ${schema}.searchflow_runs ADD COLUMN quarantined bigint;
ALTER TABLE ${schema}.searchflow_runs ADD COLUMN columns json;
ALTER TABLE ${schema}.searchflow_runs ADD COLUMN schema_changes json;
ALTER TABLE ${schema}.searchflow_runs ADD COLUMN published json;
CREATE VIEW ${schema}.quarantined_rows AS
SELECT r.job, r.row_number, m.misfits, r.input, r.response, r.request_id,
  CAST(CAST(r.cost_micros AS DECIMAL(18, 0)) * CAST(0.000001 AS DECIMAL(7, 6)) AS DECIMAL(18, 6)) AS cost_dollars, r.fetched_at
FROM ${schema}.row_store r
JOIN ${schema}.searchflow_jobs j ON j.job = r.job AND j.on_misfit = 'quarantine'
JOIN (
  SELECT job, row_number, string_agg(column_name || ' (' || expected || '): ' || value, '; ' ORDER BY column_name) AS misfits
  FROM ${schema}.misfits GROUP BY job, row_number) m ON m.job = r.job AND m.row_number = r.row_number;
COMMENT ON COLUMN ${schema}.searchflow_jobs.on_misfit IS 'quarantine: rows with misfits are left out of the view of the job. NULL: they are kept.';
COMMENT ON COLUMN ${schema}.searchflow_runs.quarantined IS 'Rows with an answer that are in quarantine; NULL in runs of version 0.1.0.';
COMMENT ON COLUMN ${schema}.searchflow_runs.reason IS 'Reason of a stopped run: budget, credits, key, rate, service, request, failed, misfit or person.';
COMMENT ON COLUMN ${schema}.searchflow_runs.columns IS 'Columns of the input and of the answers with their types, as a JSON list; NULL in runs of version 0.1.0.';
COMMENT ON COLUMN ${schema}.searchflow_runs.published IS 'Publish at the end of the run: target, id, rows, and the error if there is one; NULL: no publish.';
COMMENT ON COLUMN ${schema}.searchflow_runs.schema_changes IS 'Columns that were added, removed or changed their type since the run before, as a JSON list; NULL: none.';
COMMENT ON VIEW ${schema}.quarantined_rows IS 'Rows in quarantine: answers with misfits, of jobs with --on-misfit quarantine. They are not in the view of their job. Each row: one row of one job.';
COMMENT ON COLUMN ${schema}.quarantined_rows.job IS 'Id of the job.';
COMMENT ON COLUMN ${schema}.quarantined_rows.row_number IS 'Number of the row in the input, from 1.';
COMMENT ON COLUMN ${schema}.quarantined_rows.misfits IS 'The values that do not fit, with their columns and the expected types; see the table misfits.';
COMMENT ON COLUMN ${schema}.quarantined_rows.input IS 'Cells of the row, unchanged; their names are in searchflow_jobs.columns.';
COMMENT ON COLUMN ${schema}.quarantined_rows.response IS 'The whole answer as JSON, unchanged.';
COMMENT ON COLUMN ${schema}.quarantined_rows.request_id IS 'Id of the request at the service.';
COMMENT ON COLUMN ${schema}.quarantined_rows.cost_dollars IS 'Cost in dollars.';
COMMENT ON COLUMN ${schema}.quarantined_rows.fetched_at IS 'Time of the answer, UTC.';`,
    },
    {
      name: '0006-row-marks',
      sql: (schema) => `
CREATE TABLE ${schema}.row_marks (
  job text NOT NULL,
  subject text NOT NULL,
  mark text NOT NULL,
  before timestamptz,
  marked_at timestamptz NOT NULL,
  PRIMARY KEY (job, subject)
);
COMMENT ON TABLE ${schema}.row_marks IS 'Failed rows that are bought once more at the end of a run of their job, or were discarded. Each row: one unit, or one bad row, of one job.';
COMMENT ON COLUMN ${schema}.row_marks.job IS 'Id of the job.';
COMMENT ON COLUMN ${schema}.row_marks.subject IS 'row_store.unit_key; of a bad row, row_store.row_hash.';
COMMENT ON COLUMN ${schema}.row_marks.mark IS 'retry: bought once more. discarded: needs no further retry, and does not count as failed.';
COMMENT ON COLUMN ${schema}.row_marks.before IS 'For retry: failures from before this time are bought once more, UTC.';
COMMENT ON COLUMN ${schema}.row_marks.marked_at IS 'Time of the mark, UTC.';`,
    },
    {
      name: '0007-agent-runs',
      sql: (schema) => `
CREATE TABLE ${schema}.agent_runs (
  origin text NOT NULL,
  id text NOT NULL,
  status text,
  stop_reason text,
  query text,
  effort text,
  previous_run_id text,
  metadata json,
  request json,
  output_text text,
  output json,
  citations bigint,
  agent_compute_units double precision,
  searches double precision,
  emails double precision,
  phone_numbers double precision,
  usage json,
  cost_micros bigint,
  cost json,
  error json,
  created_at timestamptz,
  completed_at timestamptz,
  data json,
  is_over bigint,
  loaded_at timestamptz,
  gone_at timestamptz,
  added_mark text,
  read_mark text,
  PRIMARY KEY (origin, id)
);
CREATE TABLE ${schema}.agent_run_citations (
  origin text NOT NULL,
  run_id text NOT NULL,
  rank bigint,
  field text,
  confidence text,
  url text,
  title text,
  PRIMARY KEY (origin, run_id, rank)
);
CREATE TABLE ${schema}.agent_run_syncs (
  origin text NOT NULL,
  watermark timestamptz,
  swept_at timestamptz,
  completed_at timestamptz,
  PRIMARY KEY (origin)
);
COMMENT ON TABLE ${schema}.agent_runs IS 'Agent runs of the team, with their output, usage and cost, whichever client started them. Each row: one agent run.';
COMMENT ON COLUMN ${schema}.agent_runs.origin IS 'Base URL of the service, or sandbox: its data is never real.';
COMMENT ON COLUMN ${schema}.agent_runs.id IS 'Id at the service.';
COMMENT ON COLUMN ${schema}.agent_runs.status IS 'queued, running, completed, failed, cancelled, or another status of the service.';
COMMENT ON COLUMN ${schema}.agent_runs.stop_reason IS 'Why the run ended, as the service returned it.';
COMMENT ON COLUMN ${schema}.agent_runs.query IS 'Question or task of its request.';
COMMENT ON COLUMN ${schema}.agent_runs.effort IS 'Effort of its request, which decides its price; NULL: the default.';
COMMENT ON COLUMN ${schema}.agent_runs.previous_run_id IS 'The run that it continues.';
COMMENT ON COLUMN ${schema}.agent_runs.metadata IS 'Metadata of its request.';
COMMENT ON COLUMN ${schema}.agent_runs.request IS 'The whole request, as the service returned it.';
COMMENT ON COLUMN ${schema}.agent_runs.output_text IS 'Its output as text.';
COMMENT ON COLUMN ${schema}.agent_runs.output IS 'Its structured output.';
COMMENT ON COLUMN ${schema}.agent_runs.citations IS 'Number of its citations.';
COMMENT ON COLUMN ${schema}.agent_runs.agent_compute_units IS 'Compute that it used. Usage may have fractions if a budget ended the run.';
COMMENT ON COLUMN ${schema}.agent_runs.searches IS 'Searches that it used.';
COMMENT ON COLUMN ${schema}.agent_runs.emails IS 'E-mail addresses that it found.';
COMMENT ON COLUMN ${schema}.agent_runs.phone_numbers IS 'Phone numbers that it found.';
COMMENT ON COLUMN ${schema}.agent_runs.usage IS 'Its whole usage, with data sources.';
COMMENT ON COLUMN ${schema}.agent_runs.cost_micros IS 'Its cost, in millionths of a dollar; NULL: not charged yet.';
COMMENT ON COLUMN ${schema}.agent_runs.cost IS 'Its cost in dollars by kind.';
COMMENT ON COLUMN ${schema}.agent_runs.error IS 'Error of a failed run.';
COMMENT ON COLUMN ${schema}.agent_runs.created_at IS 'Time of its creation, UTC.';
COMMENT ON COLUMN ${schema}.agent_runs.completed_at IS 'Time of its end, UTC.';
COMMENT ON COLUMN ${schema}.agent_runs.data IS 'The whole record, including fields without a column.';
COMMENT ON COLUMN ${schema}.agent_runs.is_over IS '1 if the run has ended; otherwise the next sync reads it again.';
COMMENT ON COLUMN ${schema}.agent_runs.loaded_at IS 'Time of its last change here, UTC.';
COMMENT ON COLUMN ${schema}.agent_runs.gone_at IS 'Time since which the service no longer returns it, UTC.';
COMMENT ON COLUMN ${schema}.agent_runs.added_mark IS 'The sync that added it.';
COMMENT ON COLUMN ${schema}.agent_runs.read_mark IS 'The last sync that read it.';
COMMENT ON TABLE ${schema}.agent_run_citations IS 'Sources of the outputs of agent runs. Each row: one citation of one field of the output of an agent run.';
COMMENT ON COLUMN ${schema}.agent_run_citations.origin IS 'Base URL of the service, or sandbox: its data is never real.';
COMMENT ON COLUMN ${schema}.agent_run_citations.run_id IS 'Id of the run.';
COMMENT ON COLUMN ${schema}.agent_run_citations.rank IS 'Position among the citations of the run, from 1.';
COMMENT ON COLUMN ${schema}.agent_run_citations.field IS 'Field of the output that it supports.';
COMMENT ON COLUMN ${schema}.agent_run_citations.confidence IS 'Confidence of the service in the field.';
COMMENT ON COLUMN ${schema}.agent_run_citations.url IS 'URL of the source.';
COMMENT ON COLUMN ${schema}.agent_run_citations.title IS 'Title of the source.';
COMMENT ON TABLE ${schema}.agent_run_syncs IS 'State of the sync of agent runs. Each row: one service.';
COMMENT ON COLUMN ${schema}.agent_run_syncs.origin IS 'Base URL of the service, or sandbox: its data is never real.';
COMMENT ON COLUMN ${schema}.agent_run_syncs.watermark IS 'All runs that were created up to this time are loaded, UTC.';
COMMENT ON COLUMN ${schema}.agent_run_syncs.swept_at IS 'Time of the last sync that also read the last two days again, UTC.';
COMMENT ON COLUMN ${schema}.agent_run_syncs.completed_at IS 'End of the last complete sync, UTC.';`,
    },
    {
      name: '0008-unit-index',
      sql: (schema) => `
CREATE INDEX row_store_unit ON ${schema}.row_store USING hash (unit_key);`,
    },
    {
      name: '0009-failed-index',
      sql: (schema) => `
CREATE INDEX row_store_failed ON ${schema}.row_store (job, slice) WHERE status = 'error';`,
    },
  ],
};

/**
 * Statement that sets the compression of large columns to lz4, which is several times as fast as the default. The statement changes nothing
 * if the server was built without lz4. The prefix may contain `$$`, so the block has a named dollar quote.
 */
function lz4(prefix: string): string {
  const quoted = prefix.replaceAll("'", "''");
  return `DO $body$ BEGIN
  ${large.map(([table, column]) => `EXECUTE 'ALTER TABLE ${quoted}${table} ALTER COLUMN ${column} SET COMPRESSION lz4';`).join('\n  ')}
EXCEPTION WHEN feature_not_supported OR invalid_parameter_value OR syntax_error THEN NULL;
END $body$;`;
}
