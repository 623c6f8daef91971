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
