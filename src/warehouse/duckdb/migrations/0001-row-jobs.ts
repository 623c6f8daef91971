/**
 * Jobs, their rows, the load ledger and what is unknown. Never changed once released: what comes later is a new file.
 * Only the ledger and the unknown outcomes have keys: anti-join and append is faster than a primary key on rows. Text, highlights and
 * summary are read from the response by the view: as generated columns they would be computed at each insert, and thrown away.
 */
export const rowJobs = {
  name: '0001-row-jobs',
  sql: `
CREATE TABLE searchflow_jobs (
  job VARCHAR NOT NULL,
  name VARCHAR NOT NULL,
  view_name VARCHAR NOT NULL,
  origin VARCHAR NOT NULL,
  operation VARCHAR NOT NULL,
  input VARCHAR NOT NULL,
  columns VARCHAR[] NOT NULL,
  generation VARCHAR NOT NULL,
  options JSON,
  rows BIGINT NOT NULL,
  slices INTEGER NOT NULL,
  created_at TIMESTAMP NOT NULL,
  opened_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE searchflow_jobs IS 'One line a job: what it reads, with which options, and the view that shows its rows.';
COMMENT ON COLUMN searchflow_jobs.origin IS 'Base URL of the service, or sandbox: its data is never real.';
COMMENT ON COLUMN searchflow_jobs.generation IS 'Identifies content and options of the latest run.';
COMMENT ON COLUMN searchflow_jobs.columns IS 'Columns of the input; row_store.input holds the cells in this order.';

CREATE TABLE row_store (
  job VARCHAR NOT NULL,
  origin VARCHAR NOT NULL,
  generation VARCHAR NOT NULL,
  slice INTEGER NOT NULL,
  row_number BIGINT,
  row_hash VARCHAR NOT NULL,
  unit_key VARCHAR,
  url VARCHAR,
  input VARCHAR[] NOT NULL,
  status VARCHAR NOT NULL,
  error_tag VARCHAR,
  error_message VARCHAR,
  http_status INTEGER,
  source VARCHAR,
  title VARCHAR,
  author VARCHAR,
  published_date VARCHAR,
  response JSON,
  request_id VARCHAR,
  cost_micros BIGINT NOT NULL,
  fetched_at TIMESTAMP,
  loaded_at TIMESTAMP NOT NULL,
  outdated_at TIMESTAMP,
  vanished_at TIMESTAMP
);
COMMENT ON TABLE row_store IS 'A line for each row of each job, as loaded. Read it through enriched_rows or the view of a job.';
COMMENT ON COLUMN row_store.generation IS 'Run of the job that loaded the row.';
COMMENT ON COLUMN row_store.row_number IS 'Place in the input, from 1; NULL once the row is no longer in it.';
COMMENT ON COLUMN row_store.row_hash IS 'Start of the SHA-256 of the cells.';
COMMENT ON COLUMN row_store.unit_key IS 'What was bought: origin, operation, options and URL, hashed. NULL for a row that cannot be bought.';
COMMENT ON COLUMN row_store.input IS 'The cells as they came; names in searchflow_jobs.columns.';
COMMENT ON COLUMN row_store.status IS 'success, error (the service says so) or invalid (never sent).';
COMMENT ON COLUMN row_store.response IS 'The whole result as JSON, with fields that have no column here.';
COMMENT ON COLUMN row_store.cost_micros IS 'Millionths of a dollar. Equal URLs are bought once: the cost stands on one row, 0 on the others, so that it can be summed.';
COMMENT ON COLUMN row_store.fetched_at IS 'When the answer came, UTC.';
COMMENT ON COLUMN row_store.outdated_at IS 'Since when this answer, to other options, waits for its replacement.';
COMMENT ON COLUMN row_store.vanished_at IS 'Since when the row is no longer in the input.';

CREATE VIEW enriched_rows AS
SELECT * EXCLUDE (response, request_id, cost_micros, fetched_at, loaded_at, outdated_at, vanished_at),
  json_extract_string(response, '$.text') AS text,
  json_extract(response, '$.highlights') AS highlights,
  json_extract_string(response, '$.summary') AS summary,
  response, request_id, cost_micros, cost_micros / 1000000 AS cost_dollars, fetched_at, loaded_at, outdated_at, vanished_at
FROM row_store;
COMMENT ON VIEW enriched_rows IS 'The rows of all jobs with what is in their responses. Rows that are in the input now have vanished_at NULL.';

CREATE TABLE load_ledger (
  job VARCHAR NOT NULL,
  generation VARCHAR NOT NULL,
  slice INTEGER NOT NULL,
  rows BIGINT NOT NULL,
  attempt VARCHAR NOT NULL,
  loaded_at TIMESTAMP NOT NULL,
  PRIMARY KEY (job, generation, slice)
);
COMMENT ON TABLE load_ledger IS 'Slices that are loaded, written in the same transaction as their rows: the truth about what is loaded.';

CREATE TABLE unknown_outcomes (
  job VARCHAR NOT NULL,
  id VARCHAR NOT NULL,
  book VARCHAR NOT NULL,
  operation VARCHAR NOT NULL,
  unit_keys VARCHAR[] NOT NULL,
  intended_at TIMESTAMP NOT NULL,
  reason VARCHAR NOT NULL,
  estimate_micros BIGINT NOT NULL,
  recorded_at TIMESTAMP NOT NULL,
  PRIMARY KEY (job, id)
);
COMMENT ON TABLE unknown_outcomes IS 'Purchases whose answer never came: they may have been charged.';
`,
} as const;
