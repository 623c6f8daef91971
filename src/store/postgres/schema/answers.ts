/** Answers. Each function may be called twice with the same id, because the answer to a COMMIT may be lost. */
export const answers = (schema: string): string => `
-- Cost of an answer as a multiple of its list price; null if it is not known. Failed units are free.
CREATE FUNCTION ${schema}.cost_multiple(p ${schema}.purchases, p_cost bigint, p_statuses text[]) RETURNS double precision
LANGUAGE sql IMMUTABLE SET search_path TO pg_catalog, pg_temp AS $body$
  SELECT CASE WHEN list > 0 AND (p_cost > 0 OR charged > 0)
    THEN p_cost::double precision * units / (list * CASE WHEN charged > 0 THEN charged ELSE units END) END
  FROM (SELECT p.list_micros::double precision AS list, cardinality(p_statuses) AS units,
    cardinality(array_positions(p_statuses, 'success')) AS charged) AS answer
$body$;

-- Writes an answer. Returns the number of released keys, or null if there is no such intent. A late answer, whose intent is already an
-- unknown outcome, also ends newer claims of its units, which need not be bought again.
CREATE FUNCTION ${schema}.land(p_id uuid, p_request_id text, p_fetched_ms double precision, p_cost bigint, p_keys uuid[],
  p_statuses text[], p_tags text[], p_bodies text) RETURNS integer
LANGUAGE plpgsql SET enable_seqscan TO off SET search_path TO pg_catalog, pg_temp AS $body$
DECLARE
  p ${schema}.purchases;
  twice integer;
  given integer;
BEGIN
  SELECT * INTO p FROM ${schema}.purchases WHERE id = p_id FOR UPDATE;
  IF NOT FOUND THEN RETURN NULL; END IF;
  IF p.state IN ('landed', 'settled') THEN RETURN 0; END IF;
  twice := ${schema}.put_units(p_id, p.segment, true, p.at, p_fetched_ms, p_keys, p_statuses, p_tags, p_bodies);
  UPDATE ${schema}.purchases
  SET state = 'landed', closed_at = clock_timestamp(), cost_micros = p_cost, units = cardinality(p_keys),
    cost_multiple = ${schema}.cost_multiple(p, p_cost, p_statuses), request_id = p_request_id, bought_twice = twice,
    reason = CASE WHEN twice > 0 THEN
      format('bought twice: %s of its %s unit(s) landed from another request while it was written off; its cost is counted',
        twice, cardinality(p_keys)) END
  WHERE id = p_id;
  PERFORM ${schema}.end_runs(p);
  PERFORM ${schema}.add_spend(p, 1, cardinality(p_keys), p_cost,
    CASE p.state WHEN 'open' THEN -p.estimate_micros ELSE 0 END,
    CASE p.state WHEN 'unknown' THEN -1 ELSE 0 END,
    CASE p.state WHEN 'unknown' THEN -p.estimate_micros ELSE 0 END);
  DELETE FROM ${schema}.claims WHERE key = ANY (p_keys) AND (owner = p.owner OR p.state <> 'open');
  GET DIAGNOSTICS given = ROW_COUNT;
  RETURN given;
END $body$;

-- Ends units without a request. Returns the number of released keys.
CREATE FUNCTION ${schema}.settle(p_id uuid, p_process uuid, p_team text, p_owner text, p_segment text, p_operation text,
  p_fetched_ms double precision, p_cost bigint, p_keys uuid[], p_statuses text[], p_tags text[], p_bodies text) RETURNS integer
LANGUAGE plpgsql SET enable_seqscan TO off SET search_path TO pg_catalog, pg_temp AS $body$
DECLARE
  given integer;
BEGIN
  PERFORM 1 FROM ${schema}.purchases WHERE id = p_id;
  IF FOUND THEN RETURN 0; END IF;
  PERFORM ${schema}.check_process(p_process);
  PERFORM ${schema}.check_claims(p_owner, p_keys);
  INSERT INTO ${schema}.purchases (id, team, job, segment, operation, owner, process, keys, state, estimate_micros, cost_micros,
    units, day, closed_at)
  VALUES (p_id, p_team, split_part(p_segment, '/', 1), p_segment, p_operation, p_owner, p_process, p_keys, 'settled', 0, p_cost,
    cardinality(p_keys), (clock_timestamp() AT TIME ZONE 'UTC')::date, clock_timestamp());
  PERFORM ${schema}.put_units(p_id, p_segment, false, clock_timestamp(), p_fetched_ms, p_keys, p_statuses, p_tags, p_bodies);
  DELETE FROM ${schema}.claims WHERE key = ANY (p_keys) AND owner = p_owner;
  GET DIAGNOSTICS given = ROW_COUNT;
  RETURN given;
END $body$;

-- Closes an intent without an answer. An unknown outcome whose request was never sent gets the state never. p_came: the text that came
-- instead of an answer.
CREATE FUNCTION ${schema}.miss(p_id uuid, p_reason text, p_maybe boolean, p_came text, p_status integer, p_wait_ms double precision) RETURNS void
LANGUAGE plpgsql SET enable_seqscan TO off SET search_path TO pg_catalog, pg_temp AS $body$
DECLARE
  p ${schema}.purchases;
BEGIN
  SELECT * INTO p FROM ${schema}.purchases WHERE id = p_id FOR UPDATE;
  IF p.state = 'open' AND p.note IS NOT NULL THEN
    UPDATE ${schema}.purchases SET note = NULL WHERE id = p_id;
    PERFORM ${schema}.end_runs(p);
  END IF;
  IF p.state = 'open' AND p_maybe THEN
    PERFORM ${schema}.lose(ARRAY[p_id], p_reason);
  ELSIF p.state IN ('open', 'unknown') AND NOT p_maybe THEN
    UPDATE ${schema}.purchases SET state = 'never', reason = p_reason, http_status = p_status, wait_ms = p_wait_ms,
      closed_at = clock_timestamp() WHERE id = p_id;
    IF p.state = 'open' THEN
      PERFORM ${schema}.add_spend(p, 0, 0, 0, -p.estimate_micros, 0, 0);
    ELSE
      PERFORM ${schema}.add_spend(p, 0, 0, 0, 0, -1, -p.estimate_micros);
      PERFORM ${schema}.forget_lost(p);
    END IF;
  END IF;
  IF p_came IS NOT NULL THEN UPDATE ${schema}.purchases SET came = p_came WHERE id = p_id; END IF;
END $body$;
`;
