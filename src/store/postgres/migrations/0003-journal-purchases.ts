import type { Migration } from '../../../postgres/index.js';

/**
 * The functions for purchases. Each function may be called twice with the same id, because the answer to a COMMIT may be lost. Error SF002:
 * the owner has lost its claims.
 */
export const journalPurchases: Migration = {
  name: '0003-journal-purchases',
  sql: (schema) => `
CREATE FUNCTION ${schema}.check_claims(p_owner text, p_keys uuid[]) RETURNS void
LANGUAGE plpgsql SET enable_seqscan TO off AS $body$
BEGIN
  -- Checked by keys and not by all claims of the owner.
  IF (SELECT count(*) FILTER (WHERE owner = p_owner) FROM ${schema}.claims WHERE key = ANY (p_keys)) < cardinality(p_keys) THEN
    RAISE EXCEPTION 'the owner does not hold these units' USING ERRCODE = 'SF002';
  END IF;
END $body$;

-- Writes an intent and returns no row. If the purchase would exceed a cap, writes nothing and returns that cap. If it would exceed several
-- caps, returns the cap with the least left. Purchases under one cap wait for each other, so that two can't both take the rest of the cap.
CREATE FUNCTION ${schema}.intend(p_id uuid, p_process uuid, p_team text, p_owner text, p_book text, p_operation text,
  p_keys uuid[], p_estimate bigint, p_deadline_ms double precision, p_cap_job text, p_cap bigint)
RETURNS TABLE (scope text, cap double precision, remaining double precision, open double precision, resets_ms double precision)
LANGUAGE plpgsql SET enable_seqscan TO off AS $body$
#variable_conflict use_column
DECLARE
  bound ${schema}.caps;
  p ${schema}.purchases;
  today date;
  month date;
BEGIN
  PERFORM 1 FROM ${schema}.purchases WHERE id = p_id;
  IF FOUND THEN RETURN; END IF;
  PERFORM ${schema}.check_process(p_process);
  PERFORM ${schema}.check_claims(p_owner, p_keys);
  IF p_cap IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock(hashtextextended(concat_ws(' ', 'searchflow cap of job', p_cap_job), 0));
  END IF;
  SELECT * INTO bound FROM ${schema}.caps WHERE team = p_team AND (day_micros IS NOT NULL OR month_micros IS NOT NULL);
  IF FOUND THEN
    PERFORM pg_advisory_xact_lock(hashtextextended(concat_ws(' ', 'searchflow cap of team', p_team), 0));
  END IF;
  today := (clock_timestamp() AT TIME ZONE 'UTC')::date;
  month := date_trunc('month', today)::date;
  IF p_cap IS NOT NULL OR bound.team IS NOT NULL THEN
    RETURN QUERY
      WITH sums (nth, scope, cap, taken, open, resets) AS (
        SELECT 1, 'job', p_cap, coalesce(sum(landed_micros + open_micros + unknown_micros), 0), coalesce(sum(open_micros), 0), NULL::date
        FROM ${schema}.spend WHERE job = p_cap_job AND p_cap IS NOT NULL
        UNION ALL
        SELECT 2, 'day', bound.day_micros, coalesce(sum(landed_micros + open_micros + unknown_micros), 0), coalesce(sum(open_micros), 0), today + 1
        FROM ${schema}.spend WHERE team = bound.team AND day = today
        UNION ALL
        SELECT 3, 'month', bound.month_micros, coalesce(sum(landed_micros + open_micros + unknown_micros), 0), coalesce(sum(open_micros), 0),
          (month + interval '1 month')::date
        FROM ${schema}.spend WHERE team = bound.team AND day >= month AND bound.month_micros IS NOT NULL
      )
      SELECT scope, cap::double precision, greatest(0, cap - taken)::double precision, open::double precision,
        (extract(epoch FROM resets::timestamp AT TIME ZONE 'UTC') * 1000)::double precision
      FROM sums WHERE cap IS NOT NULL AND p_estimate > greatest(0, cap - taken)
      ORDER BY greatest(0, cap - taken), nth LIMIT 1;
    IF FOUND THEN RETURN; END IF;
  END IF;
  INSERT INTO ${schema}.purchases (id, team, job, book, operation, owner, process, keys, state, estimate_micros, day, deadline_ms)
  VALUES (p_id, p_team, split_part(p_book, '/', 1), p_book, p_operation, p_owner, p_process, p_keys, 'open', p_estimate, today,
    p_deadline_ms)
  RETURNING * INTO p;
  PERFORM ${schema}.add_spend(p, 0, 0, 0, p_estimate, 0, 0);
END $body$;

-- Writes units, except those that were bought by another request in the meantime or have a newer answer. Returns the number of units
-- that were bought by another request. p_bodies: one line for each unit.
CREATE FUNCTION ${schema}.put_units(p_purchase uuid, p_book text, p_bought boolean, p_since timestamptz,
  p_fetched_ms double precision, p_keys uuid[], p_statuses text[], p_tags text[], p_bodies text) RETURNS integer
LANGUAGE plpgsql SET enable_seqscan TO off AS $body$
DECLARE
  put integer;
BEGIN
  INSERT INTO ${schema}.units AS u (key, purchase, book, bought, fetched_ms, landed_at, status, error_tag, body)
  SELECT k, p_purchase, p_book, p_bought, p_fetched_ms, clock_timestamp(), s, t, b
  FROM unnest(p_keys, p_statuses, p_tags, string_to_array(p_bodies, E'\\n')) AS given (k, s, t, b) ORDER BY k
  ON CONFLICT (key) DO UPDATE SET purchase = excluded.purchase, book = excluded.book, bought = excluded.bought,
    fetched_ms = excluded.fetched_ms, landed_at = excluded.landed_at, status = excluded.status,
    error_tag = excluded.error_tag, body = excluded.body
  WHERE NOT u.bought OR (u.landed_at <= p_since AND u.fetched_ms <= excluded.fetched_ms);
  GET DIAGNOSTICS put = ROW_COUNT;
  DELETE FROM ${schema}.lost_units WHERE key = ANY (p_keys);
  IF put = cardinality(p_keys) THEN RETURN 0; END IF;
  RETURN (SELECT count(*) FROM ${schema}.units
    WHERE key = ANY (p_keys) AND purchase <> p_purchase AND bought AND landed_at > p_since);
END $body$;

-- Writes an answer. Returns the number of released keys, or null if there is no such intent. A late answer, whose intent is already an
-- unknown outcome, also ends newer claims of its units, which need not be bought again.
CREATE FUNCTION ${schema}.land(p_id uuid, p_request_id text, p_fetched_ms double precision, p_cost bigint, p_keys uuid[],
  p_statuses text[], p_tags text[], p_bodies text) RETURNS integer
LANGUAGE plpgsql SET enable_seqscan TO off AS $body$
DECLARE
  p ${schema}.purchases;
  twice integer;
  given integer;
BEGIN
  SELECT * INTO p FROM ${schema}.purchases WHERE id = p_id FOR UPDATE;
  IF NOT FOUND THEN RETURN NULL; END IF;
  IF p.state IN ('landed', 'settled') THEN RETURN 0; END IF;
  twice := ${schema}.put_units(p_id, p.book, true, p.at, p_fetched_ms, p_keys, p_statuses, p_tags, p_bodies);
  UPDATE ${schema}.purchases
  SET state = 'landed', closed_at = clock_timestamp(), cost_micros = p_cost, units = cardinality(p_keys),
    request_id = p_request_id, bought_twice = twice,
    reason = CASE WHEN twice > 0 THEN
      format('bought twice: %s of its %s unit(s) landed from another request while it was written off; its cost is counted',
        twice, cardinality(p_keys)) END
  WHERE id = p_id;
  PERFORM ${schema}.add_spend(p, 1, cardinality(p_keys), p_cost,
    CASE p.state WHEN 'open' THEN -p.estimate_micros ELSE 0 END,
    CASE p.state WHEN 'unknown' THEN -1 ELSE 0 END,
    CASE p.state WHEN 'unknown' THEN -p.estimate_micros ELSE 0 END);
  DELETE FROM ${schema}.claims WHERE key = ANY (p_keys) AND (owner = p.owner OR p.state <> 'open');
  GET DIAGNOSTICS given = ROW_COUNT;
  RETURN given;
END $body$;

-- Ends units without a request. Returns the number of released keys.
CREATE FUNCTION ${schema}.settle(p_id uuid, p_process uuid, p_team text, p_owner text, p_book text, p_operation text,
  p_fetched_ms double precision, p_cost bigint, p_keys uuid[], p_statuses text[], p_tags text[], p_bodies text) RETURNS integer
LANGUAGE plpgsql SET enable_seqscan TO off AS $body$
DECLARE
  given integer;
BEGIN
  PERFORM 1 FROM ${schema}.purchases WHERE id = p_id;
  IF FOUND THEN RETURN 0; END IF;
  PERFORM ${schema}.check_process(p_process);
  PERFORM ${schema}.check_claims(p_owner, p_keys);
  INSERT INTO ${schema}.purchases (id, team, job, book, operation, owner, process, keys, state, estimate_micros, cost_micros,
    units, day, closed_at)
  VALUES (p_id, p_team, split_part(p_book, '/', 1), p_book, p_operation, p_owner, p_process, p_keys, 'settled', 0, p_cost,
    cardinality(p_keys), (clock_timestamp() AT TIME ZONE 'UTC')::date, clock_timestamp());
  PERFORM ${schema}.put_units(p_id, p_book, false, clock_timestamp(), p_fetched_ms, p_keys, p_statuses, p_tags, p_bodies);
  DELETE FROM ${schema}.claims WHERE key = ANY (p_keys) AND owner = p_owner;
  GET DIAGNOSTICS given = ROW_COUNT;
  RETURN given;
END $body$;

-- Closes an intent without an answer. An unknown outcome whose request was never sent gets the state never.
CREATE FUNCTION ${schema}.miss(p_id uuid, p_reason text, p_maybe boolean) RETURNS void
LANGUAGE plpgsql SET enable_seqscan TO off AS $body$
DECLARE
  p ${schema}.purchases;
BEGIN
  SELECT * INTO p FROM ${schema}.purchases WHERE id = p_id FOR UPDATE;
  IF p.state = 'open' AND p_maybe THEN
    PERFORM ${schema}.lose(ARRAY[p_id], p_reason);
  ELSIF p.state IN ('open', 'unknown') AND NOT p_maybe THEN
    UPDATE ${schema}.purchases SET state = 'never', reason = p_reason, closed_at = clock_timestamp() WHERE id = p_id;
    IF p.state = 'open' THEN
      PERFORM ${schema}.add_spend(p, 0, 0, 0, -p.estimate_micros, 0, 0);
    ELSE
      PERFORM ${schema}.add_spend(p, 0, 0, 0, 0, -1, -p.estimate_micros);
      UPDATE ${schema}.lost_units SET times = times - 1 WHERE key = ANY (p.keys);
      DELETE FROM ${schema}.lost_units WHERE key = ANY (p.keys) AND times <= 0;
    END IF;
  END IF;
END $body$;
`,
};
