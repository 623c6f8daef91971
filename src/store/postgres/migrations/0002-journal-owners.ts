import type { Migration } from '../../../postgres/index.js';

/**
 * Living processes and their claims. Sequential scans are off, because a plan that was made while the tables were empty is kept for the
 * session. Error SF001: the process counts as dead and must register again.
 */
export const journalOwners: Migration = {
  name: '0002-journal-owners',
  sql: (schema) => `
-- Adds to the sums of a purchase.
CREATE FUNCTION ${schema}.add_spend(p ${schema}.purchases, p_requests bigint, p_units bigint, p_landed bigint, p_open bigint,
  p_unknowns bigint, p_unknown bigint) RETURNS void
LANGUAGE sql AS $body$
  INSERT INTO ${schema}.spend AS s
  VALUES (p.job, p.day, p.team, p.operation, floor(random() * 8), p_requests, p_units, p_landed, p_open, p_unknowns, p_unknown)
  ON CONFLICT (job, day, team, operation, shard) DO UPDATE SET
    requests = s.requests + excluded.requests,
    units = s.units + excluded.units,
    landed_micros = s.landed_micros + excluded.landed_micros,
    open_micros = s.open_micros + excluded.open_micros,
    unknown_outcomes = s.unknown_outcomes + excluded.unknown_outcomes,
    unknown_micros = s.unknown_micros + excluded.unknown_micros;
$body$;

-- Turns the purchases among these that are open into unknown outcomes.
CREATE FUNCTION ${schema}.lose(p_ids uuid[], p_reason text) RETURNS void
LANGUAGE plpgsql SET enable_seqscan TO off AS $body$
DECLARE
  lost ${schema}.purchases[];
BEGIN
  WITH changed AS (
    UPDATE ${schema}.purchases SET state = 'unknown', reason = p_reason, closed_at = clock_timestamp()
    WHERE id = ANY (p_ids) AND state = 'open' RETURNING *)
  SELECT array_agg(p) INTO lost FROM (SELECT * FROM changed) AS p;
  INSERT INTO ${schema}.lost_units AS l (key, times)
  SELECT k, count(*) FROM unnest(lost) AS p, unnest(p.keys) AS k GROUP BY k ORDER BY k
  ON CONFLICT (key) DO UPDATE SET times = l.times + excluded.times;
  PERFORM ${schema}.add_spend(p, 0, 0, 0, -p.estimate_micros, 1, p.estimate_micros) FROM unnest(lost) AS p;
END $body$;

-- Ends the claims and intents of processes whose rows the caller has just deleted.
CREATE FUNCTION ${schema}.bury(p_dead uuid[]) RETURNS void
LANGUAGE plpgsql AS $body$
BEGIN
  PERFORM ${schema}.lose(
    ARRAY(SELECT id FROM ${schema}.purchases WHERE process = ANY (p_dead) AND state = 'open' ORDER BY id),
    'the process ended before an answer landed');
  DELETE FROM ${schema}.claims WHERE process = ANY (p_dead);
END $body$;

-- Removes all dead processes and returns their number. Downtime of the server does not count as silence.
CREATE FUNCTION ${schema}.reap() RETURNS integer
LANGUAGE plpgsql AS $body$
DECLARE
  dead uuid[];
BEGIN
  WITH found AS (
    SELECT id FROM ${schema}.processes
    WHERE clock_timestamp() - greatest(seen_at, pg_postmaster_start_time()) > dead_after
    FOR UPDATE SKIP LOCKED
  ), gone AS (DELETE FROM ${schema}.processes WHERE id IN (SELECT id FROM found) RETURNING id)
  SELECT array_agg(id) INTO dead FROM gone;
  IF dead IS NULL THEN RETURN 0; END IF;
  PERFORM ${schema}.bury(dead);
  RETURN cardinality(dead);
END $body$;

CREATE FUNCTION ${schema}.register_process(p_id uuid, p_host text, p_pid integer, p_dead_after_ms double precision) RETURNS void
LANGUAGE plpgsql AS $body$
BEGIN
  INSERT INTO ${schema}.processes (id, host, pid, dead_after)
  VALUES (p_id, p_host, p_pid, p_dead_after_ms * interval '1 millisecond')
  ON CONFLICT (id) DO UPDATE SET seen_at = clock_timestamp();
  PERFORM ${schema}.reap();
END $body$;

-- A heartbeat; false if the process counts as dead. A process that was disconnected itself removes no others yet, because the same
-- cause (network, failover, a laptop's sleep) may have disconnected those processes, too.
CREATE FUNCTION ${schema}.beat(p_id uuid) RETURNS boolean
LANGUAGE plpgsql AS $body$
DECLARE
  before ${schema}.processes;
BEGIN
  SELECT * INTO before FROM ${schema}.processes WHERE id = p_id;
  UPDATE ${schema}.processes SET seen_at = clock_timestamp() WHERE id = p_id;
  IF NOT FOUND THEN RETURN false; END IF;
  IF clock_timestamp() - before.seen_at < before.dead_after / 2 THEN
    PERFORM ${schema}.reap();
  END IF;
  RETURN true;
END $body$;

CREATE FUNCTION ${schema}.end_process(p_id uuid) RETURNS void
LANGUAGE plpgsql AS $body$
BEGIN
  DELETE FROM ${schema}.processes WHERE id = p_id;
  PERFORM ${schema}.bury(ARRAY[p_id]);
END $body$;

-- Keeps others from removing the process until the transaction ends.
CREATE FUNCTION ${schema}.check_process(p_id uuid) RETURNS void
LANGUAGE plpgsql AS $body$
BEGIN
  PERFORM 1 FROM ${schema}.processes WHERE id = p_id FOR KEY SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the process was taken for dead' USING ERRCODE = 'SF001';
  END IF;
END $body$;

-- Whether a landed answer satisfies the freshness rules.
CREATE FUNCTION ${schema}.counts(p_fetched_ms double precision, p_status text, p_tag text, p_gone boolean,
  p_fresh_after double precision, p_retry_tags text[], p_retry_before double precision, p_rebuy_before double precision)
RETURNS boolean
LANGUAGE sql IMMUTABLE AS $body$
  SELECT (p_fresh_after IS NULL OR p_fetched_ms >= p_fresh_after)
    AND NOT (p_retry_tags IS NOT NULL AND p_status = 'error' AND coalesce(p_tag, '') = ANY (p_retry_tags)
      AND p_fetched_ms < coalesce(p_retry_before, 0))
    AND NOT (p_rebuy_before IS NOT NULL AND p_gone AND p_fetched_ms < p_rebuy_before)
$body$;

-- The landed units among these keys that satisfy the freshness rules.
CREATE FUNCTION ${schema}.landed(p_keys uuid[], p_fresh_after double precision, p_retry_tags text[],
  p_retry_before double precision, p_rebuy_before double precision)
RETURNS TABLE (key uuid, fetched_ms double precision, status text, error_tag text)
LANGUAGE sql STABLE SET enable_seqscan TO off AS $body$
  SELECT u.key, u.fetched_ms, u.status, u.error_tag FROM ${schema}.units u
  WHERE u.key = ANY (p_keys) AND ${schema}.counts(u.fetched_ms, u.status, u.error_tag, u.body IS NULL, p_fresh_after,
    p_retry_tags, p_retry_before, p_rebuy_before)
$body$;

-- Returns the landed units and those that the owner has now claimed; all others are claimed by other owners.
CREATE FUNCTION ${schema}.claim(p_process uuid, p_owner text, p_keys uuid[], p_fresh_after double precision,
  p_retry_tags text[], p_retry_before double precision, p_rebuy_before double precision)
RETURNS TABLE (key uuid, fetched_ms double precision, status text, error_tag text, unknowns integer)
LANGUAGE plpgsql SET enable_seqscan TO off AS $body$
#variable_conflict use_column
DECLARE
  landed uuid[];
  gained uuid[];
  late uuid[];
BEGIN
  PERFORM ${schema}.check_process(p_process);
  landed := ARRAY(
    SELECT u.key FROM ${schema}.landed(p_keys, p_fresh_after, p_retry_tags, p_retry_before, p_rebuy_before) u
    WHERE NOT EXISTS (SELECT FROM ${schema}.claims c WHERE c.key = u.key));
  -- In the order of keys, as everywhere, so that two callers with the same keys do not deadlock.
  WITH wanted AS (SELECT unnest(p_keys) AS k EXCEPT SELECT unnest(landed)),
  put AS (
    INSERT INTO ${schema}.claims (key, owner, process) SELECT k, p_owner, p_process FROM wanted ORDER BY k
    ON CONFLICT DO NOTHING RETURNING key)
  SELECT array_agg(key) INTO gained FROM put;
  -- Another owner may have landed a key between the two statements above.
  late := ARRAY(
    SELECT u.key FROM ${schema}.landed(gained, p_fresh_after, p_retry_tags, p_retry_before, p_rebuy_before) u);
  IF late <> '{}' THEN
    DELETE FROM ${schema}.claims WHERE key = ANY (late);
  END IF;
  RETURN QUERY
    SELECT u.key, u.fetched_ms, u.status, u.error_tag, 0 FROM ${schema}.units u WHERE u.key = ANY (landed || late)
    UNION ALL
    SELECT c.key, NULL, NULL, NULL, coalesce(l.times, 0)
    FROM ${schema}.claims c LEFT JOIN ${schema}.lost_units l ON l.key = c.key
    WHERE c.key = ANY (p_keys) AND c.owner = p_owner;
END $body$;

-- Releases the claims of an owner; its open intents become unknown outcomes. Returns the number of released keys.
CREATE FUNCTION ${schema}.release(p_owner text) RETURNS integer
LANGUAGE plpgsql SET enable_seqscan TO off AS $body$
DECLARE
  given integer;
BEGIN
  PERFORM ${schema}.lose(
    ARRAY(SELECT id FROM ${schema}.purchases WHERE owner = p_owner AND state = 'open' ORDER BY id),
    'given up before an answer landed');
  DELETE FROM ${schema}.claims WHERE owner = p_owner;
  GET DIAGNOSTICS given = ROW_COUNT;
  RETURN given;
END $body$;
`,
};
