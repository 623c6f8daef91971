/**
 * The state of rate limits: see `core/limiter/rate-queue`, whose rule changes the buckets. Times are Unix milliseconds of the database's clock.
 *
 * Buckets are unlogged, so there are no buckets after a crash. A new bucket starts with a full ring, because the starts of the last second
 * are not known. Blocks are logged.
 */
export const limiter = (schema: string): string => `
CREATE UNLOGGED TABLE ${schema}.limiter_buckets (
  team text COLLATE "C" PRIMARY KEY,
  version bigint NOT NULL,
  buckets text NOT NULL
) WITH (fillfactor = 30);
COMMENT ON TABLE ${schema}.limiter_buckets IS 'Buckets of rate limits, as JSON: the start times of their last units, and the queues that wait.';

CREATE TABLE ${schema}.limiter_blocks (
  team text COLLATE "C" PRIMARY KEY,
  until_ms double precision NOT NULL,
  span_ms double precision NOT NULL,
  reason text NOT NULL
);
COMMENT ON TABLE ${schema}.limiter_blocks IS 'Blocks of teams by the service: until when, and for how long when the block began.';

CREATE FUNCTION ${schema}.now_ms() RETURNS double precision
LANGUAGE sql VOLATILE SET search_path TO pg_catalog, pg_temp AS $body$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::double precision $body$;

-- The state of a team's limit. A block is never longer than at its beginning, even if the clock was set back.
CREATE FUNCTION ${schema}.limiter_look(p_team text, OUT now_ms double precision, OUT version double precision, OUT buckets text,
  OUT blocked_until double precision, OUT block_reason text, OUT blocked_since double precision)
LANGUAGE sql SET search_path TO pg_catalog, pg_temp AS $body$
  -- If the clock of the database was set back, the block begins now, so that it ends.
  UPDATE ${schema}.limiter_blocks SET until_ms = ${schema}.now_ms() + span_ms
    WHERE team = p_team AND until_ms - span_ms > ${schema}.now_ms();
  SELECT clock.ms, coalesce(known.version, 0)::double precision, known.buckets,
    block.until_ms, block.reason, block.until_ms - block.span_ms
  FROM (SELECT ${schema}.now_ms() AS ms OFFSET 0) AS clock
  LEFT JOIN ${schema}.limiter_buckets AS known ON known.team = p_team
  LEFT JOIN ${schema}.limiter_blocks AS block ON block.team = p_team AND block.until_ms > clock.ms
$body$;

-- Replaces the buckets of a team, unless they were changed since they had this version (0: there were none).
CREATE FUNCTION ${schema}.limiter_keep(p_team text, p_version double precision, p_buckets text) RETURNS boolean
LANGUAGE sql SET search_path TO pg_catalog, pg_temp AS $body$
  WITH changed AS (
    UPDATE ${schema}.limiter_buckets SET version = version + 1, buckets = p_buckets
    WHERE team = p_team AND version = p_version RETURNING team),
  made AS (
    INSERT INTO ${schema}.limiter_buckets (team, version, buckets) SELECT p_team, 1, p_buckets WHERE p_version = 0
    ON CONFLICT DO NOTHING RETURNING team)
  SELECT EXISTS (SELECT FROM changed) OR EXISTS (SELECT FROM made)
$body$;

-- A shorter block never ends a longer one. All waiting processes are notified.
CREATE FUNCTION ${schema}.limiter_block(p_team text, p_until double precision, p_reason text) RETURNS void
LANGUAGE sql SET search_path TO pg_catalog, pg_temp AS $body$
  INSERT INTO ${schema}.limiter_blocks AS known (team, until_ms, span_ms, reason)
    VALUES (p_team, p_until, p_until - ${schema}.now_ms(), p_reason)
    ON CONFLICT (team) DO UPDATE SET until_ms = excluded.until_ms, span_ms = excluded.span_ms, reason = excluded.reason
    WHERE excluded.until_ms > least(known.until_ms, ${schema}.now_ms() + known.span_ms);
  SELECT pg_notify('searchflow_limiter', p_team);
$body$;

-- Ends the block of a team. All waiting processes are notified.
CREATE FUNCTION ${schema}.limiter_unblock(p_team text) RETURNS void
LANGUAGE sql SET search_path TO pg_catalog, pg_temp AS $body$
  DELETE FROM ${schema}.limiter_blocks WHERE team = p_team;
  SELECT pg_notify('searchflow_limiter', p_team);
$body$;
`;
