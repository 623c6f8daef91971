/**
 * Living processes. Error SF001: the process counts as dead and must register again. Only a process that has been connected for a while may
 * remove other processes as dead. After an outage, other processes may still be reconnecting; a new process can't know that.
 */
export const processes = (schema: string): string => `
CREATE TABLE ${schema}.processes (
  id uuid PRIMARY KEY,
  host text NOT NULL,
  pid integer NOT NULL,
  team text,
  queue text,
  started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  in_touch_since timestamptz NOT NULL DEFAULT clock_timestamp(),
  dead_after interval NOT NULL
);
COMMENT ON TABLE ${schema}.processes IS 'Processes that use the store. A process that is silent for longer than dead_after is dead: its claims end, its open intents become unknown outcomes.';
COMMENT ON COLUMN ${schema}.processes.team IS 'Team of a worker, whose rate limit and budget it uses';
COMMENT ON COLUMN ${schema}.processes.queue IS 'Task queue of a worker';
COMMENT ON COLUMN ${schema}.processes.in_touch_since IS 'Since when its heartbeats have come in time; only after half of dead_after may it remove others as dead';

-- Keeps others from removing the process until the transaction ends.
CREATE FUNCTION ${schema}.check_process(p_id uuid) RETURNS void
LANGUAGE plpgsql SET search_path TO pg_catalog, pg_temp AS $body$
BEGIN
  PERFORM 1 FROM ${schema}.processes WHERE id = p_id FOR KEY SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the process was taken for dead' USING ERRCODE = 'SF001';
  END IF;
END $body$;

CREATE FUNCTION ${schema}.register_process(p_id uuid, p_host text, p_pid integer, p_dead_after_ms double precision) RETURNS void
LANGUAGE sql SET search_path TO pg_catalog, pg_temp AS $body$
  INSERT INTO ${schema}.processes (id, host, pid, dead_after)
  VALUES (p_id, p_host, p_pid, p_dead_after_ms * interval '1 millisecond')
  ON CONFLICT (id) DO UPDATE SET seen_at = clock_timestamp();
$body$;

-- Removes processes. Their claims end, and their open intents become unknown outcomes.
CREATE FUNCTION ${schema}.end_processes(p_ids uuid[]) RETURNS void
LANGUAGE plpgsql SET search_path TO pg_catalog, pg_temp AS $body$
BEGIN
  DELETE FROM ${schema}.processes WHERE id = ANY (p_ids);
  PERFORM ${schema}.lose(
    ARRAY(SELECT id FROM ${schema}.purchases WHERE process = ANY (p_ids) AND state = 'open' ORDER BY id),
    'the process ended before an answer landed');
  DELETE FROM ${schema}.claims WHERE process = ANY (p_ids);
END $body$;

-- A heartbeat, which also removes all dead processes; false if the process itself counts as dead.
CREATE FUNCTION ${schema}.heartbeat(p_id uuid) RETURNS boolean
LANGUAGE plpgsql SET search_path TO pg_catalog, pg_temp AS $body$
DECLARE
  beaten ${schema}.processes;
  dead uuid[];
BEGIN
  UPDATE ${schema}.processes SET seen_at = clock_timestamp(),
    in_touch_since = CASE WHEN clock_timestamp() - seen_at < dead_after / 2 THEN in_touch_since ELSE clock_timestamp() END
  WHERE id = p_id RETURNING * INTO beaten;
  IF NOT FOUND THEN RETURN false; END IF;
  IF beaten.seen_at - beaten.in_touch_since < beaten.dead_after / 2 THEN RETURN true; END IF;
  -- Downtime of the server does not count as silence.
  dead := ARRAY(SELECT id FROM ${schema}.processes
    WHERE clock_timestamp() - greatest(seen_at, pg_postmaster_start_time()) > dead_after FOR UPDATE SKIP LOCKED);
  IF dead <> '{}' THEN PERFORM ${schema}.end_processes(dead); END IF;
  RETURN true;
END $body$;
`;
