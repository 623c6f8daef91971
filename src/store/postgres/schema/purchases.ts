import { ownReasons } from '../../../core/purchase/attempts.js';

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
    '${ownReasons.processEnded}');
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

/**
 * Claims of units. Error SF002: the owner has lost its claims. Here and in other functions sequential scans are off, because a plan that was
 * made while the tables were empty is kept for the session.
 */
export const claims = (schema: string): string => `
CREATE TABLE ${schema}.claims (
  key uuid PRIMARY KEY,
  owner text COLLATE "C" NOT NULL,
  process uuid NOT NULL
);
CREATE INDEX claims_owner ON ${schema}.claims (owner);
COMMENT ON TABLE ${schema}.claims IS 'Units that are being bought now.';

CREATE FUNCTION ${schema}.check_claims(p_owner text, p_keys uuid[]) RETURNS void
LANGUAGE plpgsql SET enable_seqscan TO off SET search_path TO pg_catalog, pg_temp AS $body$
BEGIN
  -- Checked by keys and not by all claims of the owner.
  IF (SELECT count(*) FILTER (WHERE owner = p_owner) FROM ${schema}.claims WHERE key = ANY (p_keys)) < cardinality(p_keys) THEN
    RAISE EXCEPTION 'the owner does not hold these units' USING ERRCODE = 'SF002';
  END IF;
END $body$;

-- Returns the landed units and those that the owner has now claimed; all others are claimed by other owners. A unit of a run at the service
-- is claimed with its purchase, even if the unit landed before.
CREATE FUNCTION ${schema}.claim(p_process uuid, p_owner text, p_keys uuid[], p_fresh_after double precision,
  p_retry_tags text[], p_retry_before double precision, p_rebuy_before double precision)
RETURNS TABLE (key uuid, fetched_ms double precision, status text, error_tag text, unknowns integer,
  started uuid, started_note text, started_ms double precision, lost uuid, lost_ms double precision, lost_deadline_ms double precision)
LANGUAGE plpgsql SET enable_seqscan TO off SET search_path TO pg_catalog, pg_temp AS $body$
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
  -- In the order of keys, as everywhere, so that two callers with the same keys do not deadlock.
  WITH wanted AS (SELECT unnest(p_keys) AS k EXCEPT SELECT unnest(landed)),
  put AS (
    INSERT INTO ${schema}.claims (key, owner, process) SELECT k, p_owner, p_process FROM wanted ORDER BY k
    ON CONFLICT DO NOTHING RETURNING key)
  SELECT array_agg(key) INTO gained FROM put;
  -- Another owner may have landed a key between the two statements above.
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

-- Releases the claims of an owner; its open intents become unknown outcomes. Returns the number of released keys.
CREATE FUNCTION ${schema}.release(p_owner text) RETURNS integer
LANGUAGE plpgsql SET enable_seqscan TO off SET search_path TO pg_catalog, pg_temp AS $body$
DECLARE
  given integer;
BEGIN
  PERFORM ${schema}.lose(
    ARRAY(SELECT id FROM ${schema}.purchases WHERE owner = p_owner AND state = 'open' ORDER BY id),
    '${ownReasons.givenUp}');
  DELETE FROM ${schema}.claims WHERE owner = p_owner;
  GET DIAGNOSTICS given = ROW_COUNT;
  RETURN given;
END $body$;
`;

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

/**
 * Purchases, with those that are unknown outcomes or run at the service. A purchase that runs at the service belongs to no process; the next
 * claim of the unit takes over the purchase.
 */
export const purchases = (schema: string): string => `
CREATE TABLE ${schema}.purchases (
  id uuid PRIMARY KEY,
  team text COLLATE "C" NOT NULL,
  job text COLLATE "C" NOT NULL,
  segment text COLLATE "C" NOT NULL,
  operation text COLLATE "C" NOT NULL,
  tier text COLLATE "C" NOT NULL DEFAULT '',
  owner text COLLATE "C" NOT NULL,
  process uuid NOT NULL,
  keys uuid[] NOT NULL,
  state text COLLATE "C" NOT NULL CHECK (state IN ('open', 'landed', 'unknown', 'never', 'settled')),
  estimate_micros bigint NOT NULL,
  list_micros bigint NOT NULL DEFAULT 0,
  cost_micros bigint NOT NULL DEFAULT 0,
  cost_multiple double precision,
  units integer NOT NULL DEFAULT 0,
  bought_twice integer NOT NULL DEFAULT 0,
  request_id text,
  reason text,
  http_status integer,
  wait_ms double precision,
  came text,
  note text,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  day date NOT NULL,
  deadline_ms double precision,
  closed_at timestamptz
);
CREATE INDEX purchases_job ON ${schema}.purchases (job);
CREATE INDEX purchases_open_job ON ${schema}.purchases (job) WHERE state = 'open';
CREATE INDEX purchases_open_owner ON ${schema}.purchases (owner) WHERE state = 'open';
CREATE INDEX purchases_open_process ON ${schema}.purchases (process) WHERE state = 'open';
CREATE INDEX purchases_priced ON ${schema}.purchases (job, day, operation, tier, closed_at) WHERE cost_multiple IS NOT NULL;
COMMENT ON TABLE ${schema}.purchases IS 'All requests that were or may have been paid for, one row for each. Rows are never deleted.';
COMMENT ON COLUMN ${schema}.purchases.tier IS 'Setting that decides its price together with the operation, such as the effort of an agent run';
COMMENT ON COLUMN ${schema}.purchases.state IS 'open: in flight; landed: answered; unknown: without an answer, possibly charged; never: not sent, or certainly not charged; settled: units ended without a request';
COMMENT ON COLUMN ${schema}.purchases.estimate_micros IS 'Amount that it takes from caps until it is answered; of an unknown outcome its likely price';
COMMENT ON COLUMN ${schema}.purchases.list_micros IS 'Its price by the price table';
COMMENT ON COLUMN ${schema}.purchases.cost_multiple IS 'Cost of its answer as a multiple of the list price; null: not known';
COMMENT ON COLUMN ${schema}.purchases.bought_twice IS 'Number of units of its answer that another request bought while this one was an unknown outcome';
COMMENT ON COLUMN ${schema}.purchases.http_status IS 'HTTP status of a refused or failed request; wait_ms: the wait that the answer named';
COMMENT ON COLUMN ${schema}.purchases.came IS 'Text that came instead of an answer, at most 64 KiB';
COMMENT ON COLUMN ${schema}.purchases.note IS 'The run at the service, as JSON; a purchase with a note outlives its process';

CREATE TABLE ${schema}.lost_units (
  key uuid PRIMARY KEY,
  times integer NOT NULL,
  purchase uuid NOT NULL
);
COMMENT ON TABLE ${schema}.lost_units IS 'Number of lost answers for each unit that has not landed.';
COMMENT ON COLUMN ${schema}.lost_units.purchase IS 'The latest purchase with a lost answer';

CREATE TABLE ${schema}.runs (
  key uuid PRIMARY KEY,
  purchase uuid NOT NULL
);
COMMENT ON TABLE ${schema}.runs IS 'Units of runs at the service, with the open purchase of each.';

-- Number of the newest answers to such purchases of a day, at most 100, and the 95th percentile of their cost as a multiple of
-- the list price.
CREATE FUNCTION ${schema}.observed(p_team text, p_job text, p_day date, p_operation text, p_tier text,
  OUT answers bigint, OUT multiple double precision)
LANGUAGE plpgsql STABLE SET enable_seqscan TO off SET search_path TO pg_catalog, pg_temp AS $body$
BEGIN
  SELECT count(*), coalesce(percentile_disc(0.95) WITHIN GROUP (ORDER BY cost_multiple), 0) INTO answers, multiple
  FROM (SELECT cost_multiple FROM ${schema}.purchases
    WHERE job = p_job AND day = p_day AND operation = p_operation AND tier = p_tier AND cost_multiple IS NOT NULL AND team = p_team
    ORDER BY closed_at DESC LIMIT 100) AS newest;
END $body$;

-- Turns the purchases among these that are open into unknown outcomes, except those that run at the service. Each counts at its likely price:
-- see lostMicros of store/file/spend.
CREATE FUNCTION ${schema}.lose(p_ids uuid[], p_reason text) RETURNS void
LANGUAGE plpgsql SET enable_seqscan TO off SET search_path TO pg_catalog, pg_temp AS $body$
DECLARE
  lost ${schema}.purchases[];
  one ${schema}.purchases;
  micros bigint;
BEGIN
  WITH changed AS (
    UPDATE ${schema}.purchases SET state = 'unknown', reason = p_reason, closed_at = clock_timestamp()
    WHERE id = ANY (p_ids) AND state = 'open' AND note IS NULL RETURNING *)
  SELECT array_agg(p) INTO lost FROM (SELECT * FROM changed) AS p;
  INSERT INTO ${schema}.lost_units AS l (key, times, purchase)
  SELECT k, count(*), (array_agg(p.id ORDER BY p.at DESC))[1] FROM unnest(lost) AS p, unnest(p.keys) AS k GROUP BY k ORDER BY k
  ON CONFLICT (key) DO UPDATE SET times = l.times + excluded.times, purchase = excluded.purchase;
  FOR one IN SELECT * FROM unnest(lost) LOOP
    SELECT CASE WHEN answers < 3 THEN one.estimate_micros
      ELSE least(one.estimate_micros, floor(one.list_micros * greatest(1, multiple) + 0.5)::bigint) END INTO micros
    FROM ${schema}.observed(one.team, one.job, one.day, one.operation, one.tier);
    UPDATE ${schema}.purchases SET estimate_micros = micros WHERE id = one.id;
    PERFORM ${schema}.add_spend(one, 0, 0, 0, -one.estimate_micros, 1, micros);
  END LOOP;
END $body$;

CREATE FUNCTION ${schema}.end_runs(p ${schema}.purchases) RETURNS void
LANGUAGE sql SET enable_seqscan TO off SET search_path TO pg_catalog, pg_temp AS $body$
  DELETE FROM ${schema}.runs WHERE key = ANY (p.keys) AND purchase = p.id;
$body$;

CREATE FUNCTION ${schema}.forget_lost(p ${schema}.purchases) RETURNS void
LANGUAGE sql SET enable_seqscan TO off SET search_path TO pg_catalog, pg_temp AS $body$
  UPDATE ${schema}.lost_units SET times = times - 1 WHERE key = ANY (p.keys);
  DELETE FROM ${schema}.lost_units WHERE key = ANY (p.keys) AND times <= 0;
$body$;

-- Records the run of a purchase; false if there is no such purchase. An unknown outcome becomes open again. The caller has claimed the
-- unit.
CREATE FUNCTION ${schema}.note(p_id uuid, p_process uuid, p_owner text, p_note text) RETURNS boolean
LANGUAGE plpgsql SET enable_seqscan TO off SET search_path TO pg_catalog, pg_temp AS $body$
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
`;
