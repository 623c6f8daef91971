import type { Migration } from '../../../postgres/index.js';

/**
 * What the journal keeps. Keys are the 32 hex digits of a unit key; `*_ms` are Unix milliseconds of the process that asked,
 * `timestamptz` is the database's own clock; amounts are micro-dollars.
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
COMMENT ON TABLE ${schema}.processes IS 'Processes that use the store now. One that was not seen for longer than it said is dead: its claims lapse, its open intents become unknown outcomes.';

CREATE TABLE ${schema}.claims (
  key uuid PRIMARY KEY,
  owner text COLLATE "C" NOT NULL,
  process uuid NOT NULL
);
CREATE INDEX claims_owner ON ${schema}.claims (owner);
COMMENT ON TABLE ${schema}.claims IS 'Units that somebody is buying now.';

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
COMMENT ON TABLE ${schema}.purchases IS 'Everything that was or may have been bought, a row a request. Never deleted.';
COMMENT ON COLUMN ${schema}.purchases.state IS 'open: in flight; landed: answered; unknown: no answer came, perhaps charged all the same; never: not sent or certainly not charged; settled: units ended without a request';
COMMENT ON COLUMN ${schema}.purchases.bought_twice IS 'Units of its answer that another request had bought meanwhile, because this one was written off';

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
COMMENT ON TABLE ${schema}.units IS 'Landed units: what is here is never bought again.';
COMMENT ON COLUMN ${schema}.units.body IS 'The unit as a line of JSON (text, because json and jsonb refuse some that the service sends); null: pruned';

CREATE TABLE ${schema}.lost_units (
  key uuid PRIMARY KEY,
  times integer NOT NULL
);
COMMENT ON TABLE ${schema}.lost_units IS 'How often the answer for a unit that has not landed was lost.';

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
COMMENT ON TABLE ${schema}.spend IS 'Sums over purchases by the day (UTC) on which they were asked for, kept in the same transactions. A sum is spread over shards so that requests that end at once need not wait for each other; add them up.';

CREATE TABLE ${schema}.caps (
  team text COLLATE "C" PRIMARY KEY,
  day_micros bigint,
  month_micros bigint
);
COMMENT ON TABLE ${schema}.caps IS 'What a team may spend in a day and in a month of UTC; null: no bound.';
`,
};
