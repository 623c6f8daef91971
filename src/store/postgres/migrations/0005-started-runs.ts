import type { Migration } from '../../../postgres/index.js';

/** Purchases that run at the service. Such purchases belong to no process; the next claim of the unit takes over the purchase. */
export const startedRuns: Migration = {
  name: '0005-started-runs',
  sql: (schema) => `
ALTER TABLE ${schema}.purchases ADD COLUMN note text;
COMMENT ON COLUMN ${schema}.purchases.note IS 'The run at the service, as JSON; a purchase with a note outlives its process';
ALTER TABLE ${schema}.lost_units ADD COLUMN purchase uuid;
COMMENT ON COLUMN ${schema}.lost_units.purchase IS 'The latest purchase with a lost answer';

CREATE TABLE ${schema}.runs (
  key uuid PRIMARY KEY,
  purchase uuid NOT NULL
);
COMMENT ON TABLE ${schema}.runs IS 'Units of runs at the service, with the open purchase of each.';

-- Turns the purchases among these that are open into unknown outcomes, except those that run at the service.
CREATE OR REPLACE FUNCTION ${schema}.lose(p_ids uuid[], p_reason text) RETURNS void
LANGUAGE plpgsql SET enable_seqscan TO off AS $body$
DECLARE
  lost ${schema}.purchases[];
BEGIN
  WITH changed AS (
    UPDATE ${schema}.purchases SET state = 'unknown', reason = p_reason, closed_at = clock_timestamp()
    WHERE id = ANY (p_ids) AND state = 'open' AND note IS NULL RETURNING *)
  SELECT array_agg(p) INTO lost FROM (SELECT * FROM changed) AS p;
  INSERT INTO ${schema}.lost_units AS l (key, times, purchase)
  SELECT k, count(*), (array_agg(p.id ORDER BY p.at DESC))[1] FROM unnest(lost) AS p, unnest(p.keys) AS k GROUP BY k ORDER BY k
  ON CONFLICT (key) DO UPDATE SET times = l.times + excluded.times, purchase = excluded.purchase;
  PERFORM ${schema}.add_spend(p, 0, 0, 0, -p.estimate_micros, 1, p.estimate_micros) FROM unnest(lost) AS p;
END $body$;

CREATE FUNCTION ${schema}.end_runs(p ${schema}.purchases) RETURNS void
LANGUAGE sql SET enable_seqscan TO off AS $body$
  DELETE FROM ${schema}.runs WHERE key = ANY (p.keys) AND purchase = p.id;
$body$;

CREATE FUNCTION ${schema}.forget_lost(p ${schema}.purchases) RETURNS void
LANGUAGE sql SET enable_seqscan TO off AS $body$
  UPDATE ${schema}.lost_units SET times = times - 1 WHERE key = ANY (p.keys);
  DELETE FROM ${schema}.lost_units WHERE key = ANY (p.keys) AND times <= 0;
$body$;

-- Records the run of a purchase; false if there is no such purchase. An unknown outcome becomes open again. The caller has claimed the
-- unit.
CREATE FUNCTION ${schema}.note(p_id uuid, p_process uuid, p_owner text, p_note text) RETURNS boolean
LANGUAGE plpgsql SET enable_seqscan TO off AS $body$
DECLARE
  p ${schema}.purchases;
BEGIN
  PERFORM ${schema}.check_process(p_process);
  SELECT * INTO p FROM ${schema}.purchases WHERE id = p_id FOR UPDATE;
  IF NOT FOUND THEN RETURN false; END IF;
  IF p.state NOT IN ('open', 'unknown') THEN RETURN true; END IF;
  UPDATE ${schema}.purchases
  SET state = 'open', note = p_note, owner = p_owner, process = p_process, reason = NULL, closed_at = NULL
  WHERE id = p_id;
  IF p.state = 'unknown' THEN
    PERFORM ${schema}.add_spend(p, 0, 0, 0, p.estimate_micros, -1, -p.estimate_micros);
    PERFORM ${schema}.forget_lost(p);
  END IF;
  INSERT INTO ${schema}.runs (key, purchase) SELECT k, p_id FROM unnest(p.keys) AS k ORDER BY k
  ON CONFLICT (key) DO UPDATE SET purchase = excluded.purchase;
  RETURN true;
END $body$;

-- Like claim, which older workers call. A unit of a run at the service is claimed with its purchase, even if the unit landed before.
CREATE FUNCTION ${schema}.claim_units(p_process uuid, p_owner text, p_keys uuid[], p_fresh_after double precision,
  p_retry_tags text[], p_retry_before double precision, p_rebuy_before double precision)
RETURNS TABLE (key uuid, fetched_ms double precision, status text, error_tag text, unknowns integer,
  started uuid, started_note text, started_ms double precision, lost uuid, lost_ms double precision, lost_deadline_ms double precision)
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
    WHERE NOT EXISTS (SELECT FROM ${schema}.claims c WHERE c.key = u.key)
      AND NOT EXISTS (SELECT FROM ${schema}.runs r WHERE r.key = u.key));
  WITH wanted AS (SELECT unnest(p_keys) AS k EXCEPT SELECT unnest(landed)),
  put AS (
    INSERT INTO ${schema}.claims (key, owner, process) SELECT k, p_owner, p_process FROM wanted ORDER BY k
    ON CONFLICT DO NOTHING RETURNING key)
  SELECT array_agg(key) INTO gained FROM put;
  late := ARRAY(
    SELECT u.key FROM ${schema}.landed(gained, p_fresh_after, p_retry_tags, p_retry_before, p_rebuy_before) u
    WHERE NOT EXISTS (SELECT FROM ${schema}.runs r WHERE r.key = u.key));
  IF late <> '{}' THEN
    DELETE FROM ${schema}.claims WHERE key = ANY (late);
  END IF;
  UPDATE ${schema}.purchases SET owner = p_owner, process = p_process
  WHERE state = 'open' AND owner <> p_owner AND id IN (
    SELECT r.purchase FROM ${schema}.runs r JOIN ${schema}.claims c ON c.key = r.key
    WHERE r.key = ANY (gained) AND c.owner = p_owner);
  RETURN QUERY
    SELECT u.key, u.fetched_ms, u.status, u.error_tag, 0, NULL::uuid, NULL, NULL::double precision, NULL::uuid,
      NULL::double precision, NULL::double precision
    FROM ${schema}.units u WHERE u.key = ANY (landed || late)
    UNION ALL
    SELECT c.key, NULL, NULL, NULL, coalesce(l.times, 0),
      s.id, s.note, floor(extract(epoch FROM s.at) * 1000)::double precision,
      p.id, floor(extract(epoch FROM p.at) * 1000)::double precision, p.deadline_ms
    FROM ${schema}.claims c
    LEFT JOIN ${schema}.runs r ON r.key = c.key
    LEFT JOIN ${schema}.purchases s ON s.id = r.purchase AND s.state = 'open'
    LEFT JOIN ${schema}.lost_units l ON l.key = c.key
    LEFT JOIN ${schema}.purchases p ON p.id = l.purchase AND p.state = 'unknown'
    WHERE c.key = ANY (p_keys) AND c.owner = p_owner;
END $body$;

-- Writes an answer. Returns the number of released keys, or null if there is no such intent. A late answer, whose intent is already an
-- unknown outcome, also ends newer claims of its units, which need not be bought again.
CREATE OR REPLACE FUNCTION ${schema}.land(p_id uuid, p_request_id text, p_fetched_ms double precision, p_cost bigint, p_keys uuid[],
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
  PERFORM ${schema}.end_runs(p);
  PERFORM ${schema}.add_spend(p, 1, cardinality(p_keys), p_cost,
    CASE p.state WHEN 'open' THEN -p.estimate_micros ELSE 0 END,
    CASE p.state WHEN 'unknown' THEN -1 ELSE 0 END,
    CASE p.state WHEN 'unknown' THEN -p.estimate_micros ELSE 0 END);
  DELETE FROM ${schema}.claims WHERE key = ANY (p_keys) AND (owner = p.owner OR p.state <> 'open');
  GET DIAGNOSTICS given = ROW_COUNT;
  RETURN given;
END $body$;

-- Closes an intent without an answer. An unknown outcome whose request was never sent gets the state never.
CREATE OR REPLACE FUNCTION ${schema}.miss(p_id uuid, p_reason text, p_maybe boolean) RETURNS void
LANGUAGE plpgsql SET enable_seqscan TO off AS $body$
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
    UPDATE ${schema}.purchases SET state = 'never', reason = p_reason, closed_at = clock_timestamp() WHERE id = p_id;
    IF p.state = 'open' THEN
      PERFORM ${schema}.add_spend(p, 0, 0, 0, -p.estimate_micros, 0, 0);
    ELSE
      PERFORM ${schema}.add_spend(p, 0, 0, 0, 0, -1, -p.estimate_micros);
      PERFORM ${schema}.forget_lost(p);
    END IF;
  END IF;
END $body$;
`,
};
