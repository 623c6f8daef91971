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

/**
 * Slots for runs at the service, and the processes that wait for a slot. A slot is a row, which outlives the process that took the slot. A
 * waiting process that does not ask again within seconds loses its rank.
 */
export const slots = (schema: string): string => `
CREATE TABLE ${schema}.slots (
  team text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  run_id text COLLATE "C",
  taken_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (team, owner)
);
COMMENT ON TABLE ${schema}.slots IS 'Slots for runs at the service, by the purchase that took each.';

CREATE TABLE ${schema}.slots_freed (
  team text COLLATE "C" NOT NULL,
  run bytea NOT NULL,
  freed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (team, run)
);
COMMENT ON TABLE ${schema}.slots_freed IS 'Runs whose slot was freed after the list in slots_noted was read.';
COMMENT ON COLUMN ${schema}.slots_freed.run IS 'SHA-256 of the id of the run, which may be too long for a key';

CREATE TABLE ${schema}.slots_noted (
  team text COLLATE "C" PRIMARY KEY,
  run_ids text[] NOT NULL,
  as_of timestamptz NOT NULL
);
COMMENT ON TABLE ${schema}.slots_noted IS 'Runs in progress according to the service.';

CREATE UNLOGGED TABLE ${schema}.slots_waiting (
  team text COLLATE "C" NOT NULL,
  process uuid NOT NULL,
  owner text COLLATE "C" NOT NULL,
  ticket bigint GENERATED ALWAYS AS IDENTITY,
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (team, process, owner)
);
COMMENT ON TABLE ${schema}.slots_waiting IS 'Owners that wait for a slot, first come first served.';

CREATE FUNCTION ${schema}.slots_lock(p_team text) RETURNS void
LANGUAGE sql SET search_path TO pg_catalog, pg_temp AS $body$ SELECT pg_advisory_xact_lock(hashtextextended('searchflow slots ' || p_team, 0)) $body$;

CREATE FUNCTION ${schema}.slots_elsewhere(p_team text) RETURNS integer
LANGUAGE sql STABLE SET search_path TO pg_catalog, pg_temp AS $body$
  SELECT count(DISTINCT run_id)::integer FROM ${schema}.slots_noted AS noted, unnest(noted.run_ids) AS run_id
  WHERE noted.team = p_team
    AND NOT EXISTS (SELECT FROM ${schema}.slots AS held WHERE held.team = p_team AND held.run_id = run_id.run_id)
    AND NOT EXISTS (SELECT FROM ${schema}.slots_freed AS freed
      WHERE freed.team = p_team AND freed.run = sha256(convert_to(run_id.run_id, 'UTF8')) AND freed.freed_at > noted.as_of)
$body$;

-- Called with all owners that wait in a process. Returns the owners that now hold a slot; fresh: the owner got the slot in this call.
CREATE FUNCTION ${schema}.slots_take(p_team text, p_limit integer, p_process uuid, p_owners text[])
RETURNS TABLE (owner text, fresh boolean)
LANGUAGE plpgsql SET search_path TO pg_catalog, pg_temp AS $body$
#variable_conflict use_column
DECLARE
  places integer;
  given text[];
BEGIN
  PERFORM ${schema}.slots_lock(p_team);
  DELETE FROM ${schema}.slots_waiting WHERE team = p_team AND (seen_at < clock_timestamp() - interval '5 s'
    OR (process = p_process AND owner <> ALL (p_owners)));
  INSERT INTO ${schema}.slots_waiting (team, process, owner)
    SELECT p_team, p_process, o.owner FROM unnest(p_owners) WITH ORDINALITY AS o (owner, position)
    WHERE NOT EXISTS (SELECT FROM ${schema}.slots AS held WHERE held.team = p_team AND held.owner = o.owner)
    ORDER BY o.position
    ON CONFLICT (team, process, owner) DO UPDATE SET seen_at = clock_timestamp();
  SELECT p_limit - count(*) - ${schema}.slots_elsewhere(p_team) INTO places FROM ${schema}.slots WHERE team = p_team;
  WITH ranked AS (
    SELECT owner, process, row_number() OVER (ORDER BY ticket) AS rank FROM ${schema}.slots_waiting WHERE team = p_team
  ), granted AS (
    INSERT INTO ${schema}.slots (team, owner) SELECT p_team, owner FROM ranked WHERE process = p_process AND rank <= places
    ON CONFLICT DO NOTHING RETURNING owner
  ) SELECT coalesce(array_agg(owner), '{}') INTO given FROM granted;
  DELETE FROM ${schema}.slots_waiting WHERE team = p_team AND process = p_process AND owner = ANY (given);
  RETURN QUERY SELECT owner, owner = ANY (given) FROM ${schema}.slots WHERE team = p_team AND owner = ANY (p_owners);
END $body$;

-- A run that is already in progress takes a slot even if none is free.
CREATE FUNCTION ${schema}.slots_hold(p_team text, p_owner text, p_run_id text) RETURNS void
LANGUAGE plpgsql SET search_path TO pg_catalog, pg_temp AS $body$
BEGIN
  PERFORM ${schema}.slots_lock(p_team);
  INSERT INTO ${schema}.slots (team, owner, run_id) VALUES (p_team, p_owner, p_run_id)
    ON CONFLICT (team, owner) DO UPDATE SET run_id = excluded.run_id;
  PERFORM pg_notify('searchflow_slots', p_team);
END $body$;

CREATE FUNCTION ${schema}.slots_free(p_team text, p_owner text) RETURNS void
LANGUAGE plpgsql SET search_path TO pg_catalog, pg_temp AS $body$
BEGIN
  PERFORM ${schema}.slots_lock(p_team);
  WITH gone AS (DELETE FROM ${schema}.slots WHERE team = p_team AND owner = p_owner RETURNING run_id)
  INSERT INTO ${schema}.slots_freed (team, run) SELECT p_team, sha256(convert_to(run_id, 'UTF8')) FROM gone WHERE run_id IS NOT NULL
    ON CONFLICT (team, run) DO UPDATE SET freed_at = excluded.freed_at;
  DELETE FROM ${schema}.slots_freed WHERE team = p_team AND freed_at < clock_timestamp() - interval '1 day';
  PERFORM pg_notify('searchflow_slots', p_team);
END $body$;

CREATE FUNCTION ${schema}.slots_note(p_team text, p_run_ids text[], p_age_ms double precision) RETURNS void
LANGUAGE plpgsql SET search_path TO pg_catalog, pg_temp AS $body$
DECLARE
  began timestamptz := clock_timestamp() - p_age_ms * interval '1 ms';
BEGIN
  PERFORM ${schema}.slots_lock(p_team);
  INSERT INTO ${schema}.slots_noted AS known (team, run_ids, as_of) VALUES (p_team, p_run_ids, began)
    ON CONFLICT (team) DO UPDATE SET run_ids = excluded.run_ids, as_of = excluded.as_of WHERE known.as_of < excluded.as_of;
  IF FOUND THEN DELETE FROM ${schema}.slots_freed WHERE team = p_team AND freed_at < began; END IF;
  PERFORM pg_notify('searchflow_slots', p_team);
END $body$;
`;
