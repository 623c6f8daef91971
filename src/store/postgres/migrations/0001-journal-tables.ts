import type { Migration } from '../../../postgres/index.js';

/**
 * Tables of the journal. Keys are the 32 hex digits of a unit key; `*_ms` are Unix milliseconds of the calling process, `timestamptz` values
 * are of the database's clock; amounts are micro-dollars.
 */
export const journalTables: Migration = {
  name: '0001-journal-tables',
  sql: (schema) => `
CREATE TABLE ${schema}.processes (
  id uuid PRIMARY KEY,
  host text NOT NULL,
  pid integer NOT NULL,
  started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  dead_after interval NOT NULL
);
COMMENT ON TABLE ${schema}.processes IS 'Processes that use the store. A process that is silent for longer than dead_after is dead: its claims end, its open intents become unknown outcomes.';

CREATE TABLE ${schema}.claims (
  key uuid PRIMARY KEY,
  owner text COLLATE "C" NOT NULL,
  process uuid NOT NULL
);
CREATE INDEX claims_owner ON ${schema}.claims (owner);
COMMENT ON TABLE ${schema}.claims IS 'Units that are being bought now.';

CREATE TABLE ${schema}.purchases (
  id uuid PRIMARY KEY,
  team text COLLATE "C" NOT NULL,
  job text COLLATE "C" NOT NULL,
  book text COLLATE "C" NOT NULL,
  operation text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  process uuid NOT NULL,
  keys uuid[] NOT NULL,
  state text COLLATE "C" NOT NULL CHECK (state IN ('open', 'landed', 'unknown', 'never', 'settled')),
  estimate_micros bigint NOT NULL,
  cost_micros bigint NOT NULL DEFAULT 0,
  units integer NOT NULL DEFAULT 0,
  bought_twice integer NOT NULL DEFAULT 0,
  request_id text,
  reason text,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  day date NOT NULL,
  deadline_ms double precision,
  closed_at timestamptz
);
CREATE INDEX purchases_job ON ${schema}.purchases (job);
CREATE INDEX purchases_open_owner ON ${schema}.purchases (owner) WHERE state = 'open';
CREATE INDEX purchases_open_process ON ${schema}.purchases (process) WHERE state = 'open';
COMMENT ON TABLE ${schema}.purchases IS 'All requests that were or may have been paid for, one row for each. Rows are never deleted.';
COMMENT ON COLUMN ${schema}.purchases.state IS 'open: in flight; landed: answered; unknown: without an answer, possibly charged; never: not sent, or certainly not charged; settled: units ended without a request';
COMMENT ON COLUMN ${schema}.purchases.bought_twice IS 'Number of units of its answer that another request bought while this one was an unknown outcome';

CREATE TABLE ${schema}.units (
  key uuid PRIMARY KEY,
  purchase uuid NOT NULL,
  book text COLLATE "C" NOT NULL,
  bought boolean NOT NULL,
  fetched_ms double precision NOT NULL,
  landed_at timestamptz NOT NULL,
  status text COLLATE "C" NOT NULL,
  error_tag text COLLATE "C",
  body text
);
DO $body$ BEGIN
  ALTER TABLE ${schema}.units ALTER COLUMN body SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported OR syntax_error OR invalid_parameter_value THEN NULL;
END $body$;
CREATE INDEX units_book ON ${schema}.units (book) WHERE body IS NOT NULL;
COMMENT ON TABLE ${schema}.units IS 'Landed units, which are not bought again.';
COMMENT ON COLUMN ${schema}.units.body IS 'The unit as a line of JSON (as text, because json and jsonb refuse some values of the service); null: pruned';

CREATE TABLE ${schema}.lost_units (
  key uuid PRIMARY KEY,
  times integer NOT NULL
);
COMMENT ON TABLE ${schema}.lost_units IS 'Number of lost answers for each unit that has not landed.';

CREATE TABLE ${schema}.spend (
  job text COLLATE "C" NOT NULL,
  day date NOT NULL,
  team text COLLATE "C" NOT NULL,
  operation text COLLATE "C" NOT NULL,
  shard smallint NOT NULL,
  requests bigint NOT NULL,
  units bigint NOT NULL,
  landed_micros bigint NOT NULL,
  open_micros bigint NOT NULL,
  unknown_outcomes bigint NOT NULL,
  unknown_micros bigint NOT NULL,
  PRIMARY KEY (job, day, team, operation, shard)
);
CREATE INDEX spend_team_day ON ${schema}.spend (team, day);
COMMENT ON TABLE ${schema}.spend IS 'Sums of purchases by the UTC day of their request, updated in the same transactions. Each sum is spread over shards, so that parallel requests do not wait for each other; add the shards up.';

CREATE TABLE ${schema}.caps (
  team text COLLATE "C" PRIMARY KEY,
  day_micros bigint,
  month_micros bigint
);
COMMENT ON TABLE ${schema}.caps IS 'Caps of a team for a UTC day and a UTC month; null: no cap.';
`,
};
