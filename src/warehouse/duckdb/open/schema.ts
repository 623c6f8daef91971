import { agentRunTables, makeAgentRunTables } from '../../agents/agent-run-tables.js';
import { eventTables } from '../../events/event-tables.js';
import { makeEventTables } from '../../events/make-tables.js';
import { makeMonitorTables, monitorTables } from '../../monitors/monitor-tables.js';
import { makeRowTables } from '../../rows/make-tables.js';
import { makeResultViews } from '../../rows/make-views.js';
import { loadParts, rowTables } from '../../rows/row-tables.js';
import { compressionOf } from '../dialect/compression.js';
import { duckDbDialect } from '../dialect/event-dialect.js';
import { duckDbResults } from '../dialect/result-dialect.js';
import { duckDbRowDialect } from '../dialect/row-dialect.js';
import { duckDbTables } from '../dialect/sql-dialect.js';

/** All tables of a file. Anti-join and append is faster than keys, so only small tables have keys. */
export const tables = [
  ...rowTables(false),
  loadParts,
  ...eventTables(duckDbDialect),
  ...monitorTables,
  ...agentRunTables,
];

const compressed = { ...duckDbTables, suffix: compressionOf };

/** Statements that create all tables and views of the newest version in an empty file. */
export const createSchema = (): string =>
  [
    makeRowTables(duckDbRowDialect, compressed, [loadParts]),
    makeEventTables(duckDbDialect, compressed),
    makeMonitorTables(duckDbTables),
    makeAgentRunTables(duckDbTables),
    makeResultViews(duckDbResults),
  ].join('\n');

/** One step of the schema since the first release. A released step is never changed. */
export interface Migration {
  /** The name begins with a number: `0002-more-prices`. */
  readonly name: string;
  readonly sql: string;
}

/** All steps since the first release, in order. Append only. A test compares their result with that of `createSchema`. */
export const migrations: readonly Migration[] = [
  {
    name: '0002-misfits',
    sql: `
CREATE TABLE misfits (
  job VARCHAR USING COMPRESSION 'dictionary' NOT NULL,
  row_number BIGINT NOT NULL,
  column_name VARCHAR NOT NULL,
  value VARCHAR NOT NULL,
  expected VARCHAR NOT NULL,
  generation VARCHAR USING COMPRESSION 'dictionary' NOT NULL,
  loaded_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE misfits IS 'Values of answers that do not fit the type of their column, so that the view of the job has NULL there. The answers are kept whole. Each row: one value in one row of one job.';
COMMENT ON COLUMN misfits.job IS 'Id of the job.';
COMMENT ON COLUMN misfits.row_number IS 'Number of the row in the input, from 1.';
COMMENT ON COLUMN misfits.column_name IS 'Column of the view of the job.';
COMMENT ON COLUMN misfits.value IS 'First 200 characters of the value, as text.';
COMMENT ON COLUMN misfits.expected IS 'Type of the column: number, integer, boolean, date or time.';
COMMENT ON COLUMN misfits.generation IS 'Generation of the job that loaded the row.';
COMMENT ON COLUMN misfits.loaded_at IS 'Time of the load, UTC.';
COMMENT ON COLUMN searchflow_runs.reason IS 'Reason of a stopped run: budget, credits, key, rate, service, request, failed or person.';`,
  },
  {
    name: '0003-column-types',
    sql: `
ALTER TABLE searchflow_jobs ADD COLUMN types VARCHAR[];
COMMENT ON COLUMN searchflow_jobs.types IS 'Types of the columns of the input, in the words of DuckDB; NULL: the input is a CSV, whose cells are texts.';
COMMENT ON COLUMN row_store.input IS 'Cells of the row: the texts of a CSV, unchanged, or canonical texts of values. Their names are in searchflow_jobs.columns.';
COMMENT ON COLUMN enriched_rows.input IS 'Cells of the row: the texts of a CSV, unchanged, or canonical texts of values. Their names are in searchflow_jobs.columns.';`,
  },
  {
    name: '0004-earlier-versions',
    sql: `
CREATE OR REPLACE VIEW enriched_rows AS
SELECT job, origin, generation, slice, row_number, row_hash, unit_key, url, input, status, error_tag, error_message, http_status, source, title, author, published_date, CASE WHEN error_message IS NULL OR json_type(response, '$.text') = 'VARCHAR' THEN json_extract_string(response, '$.text') END AS text, response -> 'highlights' AS highlights, CASE WHEN error_message IS NULL OR json_type(response, '$.summary') = 'VARCHAR' THEN json_extract_string(response, '$.summary') END AS summary, response, request_id, cost_micros, CAST(CAST(cost_micros AS DECIMAL(18, 0)) * CAST(0.000001 AS DECIMAL(7, 6)) AS DECIMAL(18, 6)) AS cost_dollars, fetched_at, loaded_at, outdated_at, vanished_at
FROM row_store
WHERE vanished_at IS NULL OR outdated_at IS NULL OR length(row_hash) = 16;
COMMENT ON COLUMN row_store.row_hash IS 'Start of the SHA-256 of the cells; in a job with a key, after the start of that of the key.';
COMMENT ON COLUMN row_store.outdated_at IS 'Time since which the job has other options, so that this answer will be replaced, UTC. If vanished_at is set, too: an earlier version of a row of a job with a key, which is kept in case that the edit is undone; enriched_rows omits it.';
COMMENT ON VIEW enriched_rows IS 'The rows of all jobs with the fields of their responses. Rows that are in the input now have vanished_at NULL. Each row: one row of one job.';
COMMENT ON COLUMN enriched_rows.job IS 'Id of the job.';
COMMENT ON COLUMN enriched_rows.origin IS 'Base URL of the service, or sandbox: its data is never real.';
COMMENT ON COLUMN enriched_rows.generation IS 'Generation of the job that loaded the row.';
COMMENT ON COLUMN enriched_rows.slice IS 'Slice of the input; its rows were loaded in one transaction.';
COMMENT ON COLUMN enriched_rows.row_number IS 'Number of the row in the input, from 1; NULL after it has vanished from the input.';
COMMENT ON COLUMN enriched_rows.row_hash IS 'Start of the SHA-256 of the cells; in a job with a key, after the start of that of the key.';
COMMENT ON COLUMN enriched_rows.unit_key IS 'Hash of the unit: origin, operation, options and URL. NULL for a bad row.';
COMMENT ON COLUMN enriched_rows.url IS 'URL of the request.';
COMMENT ON COLUMN enriched_rows.input IS 'Cells of the row: the texts of a CSV, unchanged, or canonical texts of values. Their names are in searchflow_jobs.columns.';
COMMENT ON COLUMN enriched_rows.status IS 'success, error (the service returned an error) or invalid (never sent).';
COMMENT ON COLUMN enriched_rows.error_tag IS 'Error tag of the service, or of searchflow for a row that was never sent.';
COMMENT ON COLUMN enriched_rows.error_message IS 'Error message of the service. For a row that was never sent: the line, column and problem. For a success: fields with an unexpected type, which are NULL in their columns.';
COMMENT ON COLUMN enriched_rows.http_status IS 'HTTP status of the page, if the service returned one.';
COMMENT ON COLUMN enriched_rows.source IS 'Source of the content at the service: cached, crawled.';
COMMENT ON COLUMN enriched_rows.title IS 'Title of the page.';
COMMENT ON COLUMN enriched_rows.author IS 'Author of the page.';
COMMENT ON COLUMN enriched_rows.published_date IS 'Date of the page, as the service returned it.';
COMMENT ON COLUMN enriched_rows.response IS 'The whole result as JSON, unchanged, including fields without a column.';
COMMENT ON COLUMN enriched_rows.request_id IS 'Id of the request at the service.';
COMMENT ON COLUMN enriched_rows.cost_micros IS 'Cost in millionths of a dollar. Equal URLs are bought once: one row has the cost, the others have 0, so that it can be summed.';
COMMENT ON COLUMN enriched_rows.fetched_at IS 'Time of the answer, UTC.';
COMMENT ON COLUMN enriched_rows.loaded_at IS 'Time of the load, UTC.';
COMMENT ON COLUMN enriched_rows.outdated_at IS 'Time since which the job has other options, so that this answer will be replaced, UTC. If vanished_at is set, too: an earlier version of a row of a job with a key, which is kept in case that the edit is undone; enriched_rows omits it.';
COMMENT ON COLUMN enriched_rows.vanished_at IS 'Time since which the row is missing from the input, UTC.';
COMMENT ON COLUMN enriched_rows.text IS 'Text of the page.';
COMMENT ON COLUMN enriched_rows.highlights IS 'Snippets, as a JSON list.';
COMMENT ON COLUMN enriched_rows.summary IS 'Summary of the page.';
COMMENT ON COLUMN enriched_rows.cost_dollars IS 'cost_micros in dollars, exact.';`,
  },
  {
    name: '0005-quarantine',
    sql: `
ALTER TABLE searchflow_jobs ADD COLUMN on_misfit VARCHAR;
ALTER TABLE searchflow_runs ADD COLUMN quarantined BIGINT;
ALTER TABLE searchflow_runs ADD COLUMN columns JSON;
ALTER TABLE searchflow_runs ADD COLUMN schema_changes JSON;
ALTER TABLE searchflow_runs ADD COLUMN published JSON;
CREATE VIEW quarantined_rows AS
SELECT r.job, r.row_number, m.misfits, r.input, r.response, r.request_id,
  CAST(CAST(r.cost_micros AS DECIMAL(18, 0)) * CAST(0.000001 AS DECIMAL(7, 6)) AS DECIMAL(18, 6)) AS cost_dollars, r.fetched_at
FROM row_store r
JOIN searchflow_jobs j ON j.job = r.job AND j.on_misfit = 'quarantine'
JOIN (
  SELECT job, row_number, string_agg(column_name || ' (' || expected || '): ' || value, '; ' ORDER BY column_name) AS misfits
  FROM misfits GROUP BY job, row_number) m ON m.job = r.job AND m.row_number = r.row_number;
COMMENT ON COLUMN searchflow_jobs.on_misfit IS 'quarantine: rows with misfits are left out of the view of the job. NULL: they are kept.';
COMMENT ON COLUMN searchflow_runs.quarantined IS 'Rows with an answer that are in quarantine; NULL in runs of version 0.1.0.';
COMMENT ON COLUMN searchflow_runs.reason IS 'Reason of a stopped run: budget, credits, key, rate, service, request, failed, misfit or person.';
COMMENT ON COLUMN searchflow_runs.columns IS 'Columns of the input and of the answers with their types, as a JSON list; NULL in runs of version 0.1.0.';
COMMENT ON COLUMN searchflow_runs.published IS 'Publish at the end of the run: target, id, rows, and the error if there is one; NULL: no publish.';
COMMENT ON COLUMN searchflow_runs.schema_changes IS 'Columns that were added, removed or changed their type since the run before, as a JSON list; NULL: none.';
COMMENT ON VIEW quarantined_rows IS 'Rows in quarantine: answers with misfits, of jobs with --on-misfit quarantine. They are not in the view of their job. Each row: one row of one job.';
COMMENT ON COLUMN quarantined_rows.job IS 'Id of the job.';
COMMENT ON COLUMN quarantined_rows.row_number IS 'Number of the row in the input, from 1.';
COMMENT ON COLUMN quarantined_rows.misfits IS 'The values that do not fit, with their columns and the expected types; see the table misfits.';
COMMENT ON COLUMN quarantined_rows.input IS 'Cells of the row, unchanged; their names are in searchflow_jobs.columns.';
COMMENT ON COLUMN quarantined_rows.response IS 'The whole answer as JSON, unchanged.';
COMMENT ON COLUMN quarantined_rows.request_id IS 'Id of the request at the service.';
COMMENT ON COLUMN quarantined_rows.cost_dollars IS 'Cost in dollars.';
COMMENT ON COLUMN quarantined_rows.fetched_at IS 'Time of the answer, UTC.';`,
  },
  {
    name: '0006-row-marks',
    sql: `
CREATE TABLE row_marks (
  job VARCHAR USING COMPRESSION 'dictionary' NOT NULL,
  subject VARCHAR NOT NULL,
  mark VARCHAR NOT NULL,
  before TIMESTAMP,
  marked_at TIMESTAMP NOT NULL,
  PRIMARY KEY (job, subject)
);
COMMENT ON TABLE row_marks IS 'Failed rows that are bought once more at the end of a run of their job, or were discarded. Each row: one unit, or one bad row, of one job.';
COMMENT ON COLUMN row_marks.job IS 'Id of the job.';
COMMENT ON COLUMN row_marks.subject IS 'row_store.unit_key; of a bad row, row_store.row_hash.';
COMMENT ON COLUMN row_marks.mark IS 'retry: bought once more. discarded: needs no further retry, and does not count as failed.';
COMMENT ON COLUMN row_marks.before IS 'For retry: failures from before this time are bought once more, UTC.';
COMMENT ON COLUMN row_marks.marked_at IS 'Time of the mark, UTC.';`,
  },
  {
    name: '0007-agent-runs',
    sql: `
CREATE TABLE agent_runs (
  origin VARCHAR NOT NULL,
  id VARCHAR NOT NULL,
  status VARCHAR,
  stop_reason VARCHAR,
  query VARCHAR,
  effort VARCHAR,
  previous_run_id VARCHAR,
  metadata JSON,
  request JSON,
  output_text VARCHAR,
  output JSON,
  citations BIGINT,
  agent_compute_units DOUBLE,
  searches DOUBLE,
  emails DOUBLE,
  phone_numbers DOUBLE,
  usage JSON,
  cost_micros BIGINT,
  cost JSON,
  error JSON,
  created_at TIMESTAMP,
  completed_at TIMESTAMP,
  data JSON,
  is_over BIGINT,
  loaded_at TIMESTAMP,
  gone_at TIMESTAMP,
  added_mark VARCHAR,
  read_mark VARCHAR
);
CREATE TABLE agent_run_citations (
  origin VARCHAR NOT NULL,
  run_id VARCHAR NOT NULL,
  rank BIGINT,
  field VARCHAR,
  confidence VARCHAR,
  url VARCHAR,
  title VARCHAR
);
CREATE TABLE agent_run_syncs (
  origin VARCHAR NOT NULL,
  watermark TIMESTAMP,
  swept_at TIMESTAMP,
  completed_at TIMESTAMP
);
COMMENT ON TABLE agent_runs IS 'Agent runs of the team, with their output, usage and cost, whichever client started them. Each row: one agent run.';
COMMENT ON COLUMN agent_runs.origin IS 'Base URL of the service, or sandbox: its data is never real.';
COMMENT ON COLUMN agent_runs.id IS 'Id at the service.';
COMMENT ON COLUMN agent_runs.status IS 'queued, running, completed, failed, cancelled, or another status of the service.';
COMMENT ON COLUMN agent_runs.stop_reason IS 'Why the run ended, as the service returned it.';
COMMENT ON COLUMN agent_runs.query IS 'Question or task of its request.';
COMMENT ON COLUMN agent_runs.effort IS 'Effort of its request, which decides its price; NULL: the default.';
COMMENT ON COLUMN agent_runs.previous_run_id IS 'The run that it continues.';
COMMENT ON COLUMN agent_runs.metadata IS 'Metadata of its request.';
COMMENT ON COLUMN agent_runs.request IS 'The whole request, as the service returned it.';
COMMENT ON COLUMN agent_runs.output_text IS 'Its output as text.';
COMMENT ON COLUMN agent_runs.output IS 'Its structured output.';
COMMENT ON COLUMN agent_runs.citations IS 'Number of its citations.';
COMMENT ON COLUMN agent_runs.agent_compute_units IS 'Compute that it used. Usage may have fractions if a budget ended the run.';
COMMENT ON COLUMN agent_runs.searches IS 'Searches that it used.';
COMMENT ON COLUMN agent_runs.emails IS 'E-mail addresses that it found.';
COMMENT ON COLUMN agent_runs.phone_numbers IS 'Phone numbers that it found.';
COMMENT ON COLUMN agent_runs.usage IS 'Its whole usage, with data sources.';
COMMENT ON COLUMN agent_runs.cost_micros IS 'Its cost, in millionths of a dollar; NULL: not charged yet.';
COMMENT ON COLUMN agent_runs.cost IS 'Its cost in dollars by kind.';
COMMENT ON COLUMN agent_runs.error IS 'Error of a failed run.';
COMMENT ON COLUMN agent_runs.created_at IS 'Time of its creation, UTC.';
COMMENT ON COLUMN agent_runs.completed_at IS 'Time of its end, UTC.';
COMMENT ON COLUMN agent_runs.data IS 'The whole record, including fields without a column.';
COMMENT ON COLUMN agent_runs.is_over IS '1 if the run has ended; otherwise the next sync reads it again.';
COMMENT ON COLUMN agent_runs.loaded_at IS 'Time of its last change here, UTC.';
COMMENT ON COLUMN agent_runs.gone_at IS 'Time since which the service no longer returns it, UTC.';
COMMENT ON COLUMN agent_runs.added_mark IS 'The sync that added it.';
COMMENT ON COLUMN agent_runs.read_mark IS 'The last sync that read it.';
COMMENT ON TABLE agent_run_citations IS 'Sources of the outputs of agent runs. Each row: one citation of one field of the output of an agent run.';
COMMENT ON COLUMN agent_run_citations.origin IS 'Base URL of the service, or sandbox: its data is never real.';
COMMENT ON COLUMN agent_run_citations.run_id IS 'Id of the run.';
COMMENT ON COLUMN agent_run_citations.rank IS 'Position among the citations of the run, from 1.';
COMMENT ON COLUMN agent_run_citations.field IS 'Field of the output that it supports.';
COMMENT ON COLUMN agent_run_citations.confidence IS 'Confidence of the service in the field.';
COMMENT ON COLUMN agent_run_citations.url IS 'URL of the source.';
COMMENT ON COLUMN agent_run_citations.title IS 'Title of the source.';
COMMENT ON TABLE agent_run_syncs IS 'State of the sync of agent runs. Each row: one service.';
COMMENT ON COLUMN agent_run_syncs.origin IS 'Base URL of the service, or sandbox: its data is never real.';
COMMENT ON COLUMN agent_run_syncs.watermark IS 'All runs that were created up to this time are loaded, UTC.';
COMMENT ON COLUMN agent_run_syncs.swept_at IS 'Time of the last sync that also read the last two days again, UTC.';
COMMENT ON COLUMN agent_run_syncs.completed_at IS 'End of the last complete sync, UTC.';`,
  },
];
