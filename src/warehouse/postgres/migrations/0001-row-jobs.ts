import { spendView } from '../../rows/make-tables.js';
import { rowComments } from '../../rows/row-tables.js';
import { lz4 } from './lz4.js';

/**
 * Jobs, their rows, the load ledger, unknown outcomes and costs. This migration never changes once it is released: a later change is a new
 * file. `response` is json, not jsonb: json keeps numbers, their digits and the order of fields, and costs less to load. `->` and `->>`
 * work on both; for other operators, cast to jsonb (`response::jsonb`).
 */
export const rowJobs = {
  name: '0001-row-jobs',
  sql: (schema: string) => `
CREATE TABLE ${schema}.searchflow_jobs (
  job text PRIMARY KEY,
  name text NOT NULL,
  view_name text NOT NULL,
  origin text NOT NULL,
  operation text NOT NULL,
  input text NOT NULL,
  columns text[] NOT NULL,
  generation text NOT NULL,
  options jsonb,
  rows bigint NOT NULL,
  slices integer NOT NULL,
  created_at timestamptz NOT NULL,
  opened_at timestamptz NOT NULL
);

CREATE TABLE ${schema}.row_store (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  job text NOT NULL,
  origin text NOT NULL,
  generation text NOT NULL,
  slice integer NOT NULL,
  row_number bigint,
  row_hash text NOT NULL,
  unit_key text,
  url text,
  input text[] NOT NULL,
  status text NOT NULL,
  error_tag text,
  error_message text,
  http_status integer,
  source text,
  title text,
  author text,
  published_date text,
  response json,
  request_id text,
  cost_micros bigint NOT NULL,
  fetched_at timestamptz,
  loaded_at timestamptz NOT NULL,
  outdated_at timestamptz,
  vanished_at timestamptz,
  row_exact json,
  answer_exact json
);
CREATE INDEX row_store_place ON ${schema}.row_store (job, row_number);
${lz4(schema, [['row_store', 'response']])}

CREATE VIEW ${schema}.enriched_rows AS
SELECT id, job, origin, generation, slice, row_number, row_hash, unit_key, url, input, status, error_tag, error_message,
  http_status, source, title, author, published_date,
  response ->> 'text' AS text, response -> 'highlights' AS highlights, response ->> 'summary' AS summary,
  response, request_id, cost_micros, cost_micros / 1000000.0 AS cost_dollars, fetched_at, loaded_at, outdated_at, vanished_at,
  row_exact, answer_exact
FROM ${schema}.row_store;

CREATE TABLE ${schema}.load_ledger (
  job text NOT NULL,
  generation text NOT NULL,
  slice integer NOT NULL,
  rows bigint NOT NULL,
  attempt text NOT NULL,
  loaded_at timestamptz NOT NULL,
  PRIMARY KEY (job, generation, slice)
);

CREATE TABLE ${schema}.unknown_outcomes (
  job text NOT NULL,
  id text NOT NULL,
  book text NOT NULL,
  operation text NOT NULL,
  unit_keys text[] NOT NULL,
  intended_at timestamptz NOT NULL,
  reason text NOT NULL,
  estimate_micros bigint NOT NULL,
  recorded_at timestamptz NOT NULL,
  PRIMARY KEY (job, id)
);

${spendView((moment) => `CAST(${moment} AT TIME ZONE 'UTC' AS date)`, `${schema}.`)};

${rowComments(['searchflow_jobs', 'row_store', 'enriched_rows', 'load_ledger', 'unknown_outcomes', 'spend'], true, `${schema}.`)}
`,
};
