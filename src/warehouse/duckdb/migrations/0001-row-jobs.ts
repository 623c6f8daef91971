/**
 * Jobs, their rows, the load ledger and unknown outcomes; 0002 adds the comments. This migration never changes once it is released: a later
 * change is a new file. Only the ledger and the unknown outcomes have keys: anti-join and append is faster than a primary key on rows. The
 * view reads text, highlights and summary from the response: DuckDB would compute generated columns at each insert and then discard them.
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

CREATE VIEW enriched_rows AS
SELECT * EXCLUDE (response, request_id, cost_micros, fetched_at, loaded_at, outdated_at, vanished_at),
  json_extract_string(response, '$.text') AS text,
  json_extract(response, '$.highlights') AS highlights,
  json_extract_string(response, '$.summary') AS summary,
  response, request_id, cost_micros, cost_micros / 1000000 AS cost_dollars, fetched_at, loaded_at, outdated_at, vanished_at
FROM row_store;

CREATE TABLE load_ledger (
  job VARCHAR NOT NULL,
  generation VARCHAR NOT NULL,
  slice INTEGER NOT NULL,
  rows BIGINT NOT NULL,
  attempt VARCHAR NOT NULL,
  loaded_at TIMESTAMP NOT NULL,
  PRIMARY KEY (job, generation, slice)
);

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
`,
} as const;
